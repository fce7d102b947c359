def f(n: int) -> Optional[int]:
    x : Optional[int] = None
    for i in range(n):
        if i == 3:
            x = i
    return x
# ---
# graph(%n : int):
#   %x : int? = prim::Constant()
#   %0 : bool = prim::Constant[value=1]()
#   %x.1 : int? = prim::Loop(%n, %0, %x)
#     block0(%i : int, %x.2 : int?):
#       %1 : int = prim::Constant[value=3]()
#       %2 : bool = aten::eq(%i, %1)
#       %x.3 : int? = prim::If(%2)
#         block0():
#           -> (%i)
#         block1():
#           -> (%x.2)
#       %3 : bool = prim::Constant[value=1]()
#       -> (%3, %x.3)
#   return (%x.1)
