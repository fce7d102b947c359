def f(x: int) -> int:
    if x > 3:
        return 1
    if x > 2:
        return 2
    return 3
# ---
# graph(%x : int):
#   %0 : int = prim::Constant[value=3]()
#   %1 : bool = aten::gt(%x, %0)
#   %2 : int = prim::If(%1)
#     block0():
#       %3 : int = prim::Constant[value=1]()
#       -> (%3)
#     block1():
#       %4 : int = prim::Constant[value=2]()
#       %5 : bool = aten::gt(%x, %4)
#       %6 : int = prim::If(%5)
#         block0():
#           %7 : int = prim::Constant[value=2]()
#           -> (%7)
#         block1():
#           %8 : int = prim::Constant[value=3]()
#           -> (%8)
#       -> (%6)
#   return (%2)
