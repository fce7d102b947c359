def f(x: Optional[int]) -> int:
    if x is None:
        x = 4
    return x + 1
# ---
# graph(%x : int?):
#   %0 : NoneType = prim::Constant()
#   %1 : bool = aten::__is__(%x, %0)
#   %x.1 : int = prim::If(%1)
#     block0():
#       %x.2 : int = prim::Constant[value=4]()
#       -> (%x.2)
#     block1():
#       %2 : int = prim::unchecked_cast(%x)
#       -> (%2)
#   %3 : int = prim::Constant[value=1]()
#   %4 : int = aten::add(%x.1, %3)
#   return (%4)
