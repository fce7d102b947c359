def f(x: int) -> int:
    i = 0
    while True:
        i += 1
        if i > x:
            break
        if i % 3 == 0:
            continue
        i += 2
    return i
# ---
# graph(%x : int):
#   %i : int = prim::Constant[value=0]()
#   %0 : bool = prim::Constant[value=1]()
#   %1 : int = prim::Constant[value=9223372036854775807]()
#   %i.1 : int = prim::Loop(%1, %0, %i)
#     block0(%2 : int, %i.2 : int):
#       %3 : int = prim::Constant[value=1]()
#       %i.3 : int = aten::add(%i.2, %3)
#       %4 : bool = aten::gt(%i.3, %x)
#       %i.4 : int, %5 : bool = prim::If(%4)
#         block0():
#           %6 : bool = prim::Constant[value=1]()
#           -> (%i.3, %6)
#         block1():
#           %7 : int = prim::Constant[value=3]()
#           %8 : int = aten::remainder(%i.3, %7)
#           %9 : int = prim::Constant[value=0]()
#           %10 : bool = aten::eq(%8, %9)
#           %i.5 : int = prim::If(%10)
#             block0():
#               -> (%i.3)
#             block1():
#               %11 : int = prim::Constant[value=2]()
#               %i.6 : int = aten::add(%i.3, %11)
#               -> (%i.6)
#           %12 : bool = prim::Constant[value=0]()
#           -> (%i.5, %12)
#       %13 : bool = prim::If(%5)
#         block0():
#           %14 : bool = prim::Constant[value=0]()
#           -> (%14)
#         block1():
#           %15 : bool = prim::Constant[value=1]()
#           -> (%15)
#       -> (%13, %i.4)
#   return (%i.1)
