def f(x: int) -> int:
    for i in range(x):
        if i * i > 50:
            return i
    return -1
# ---
# graph(%x : int):
#   %0 : bool = prim::Constant[value=1]()
#   %1 : bool = prim::Constant[value=0]()
#   %2 : int = prim::Uninitialized()
#   %3 : bool, %4 : int = prim::Loop(%x, %0, %1, %2)
#     block0(%i : int, %5 : bool, %6 : int):
#       %7 : int = aten::mul(%i, %i)
#       %8 : int = prim::Constant[value=50]()
#       %9 : bool = aten::gt(%7, %8)
#       %10 : bool, %11 : int = prim::If(%9)
#         block0():
#           %12 : bool = prim::Constant[value=1]()
#           -> (%12, %i)
#         block1():
#           %13 : bool = prim::Constant[value=0]()
#           %14 : int = prim::Uninitialized()
#           -> (%13, %14)
#       %15 : bool = aten::__not__(%10)
#       -> (%15, %10, %11)
#   %16 : int = prim::If(%3)
#     block0():
#       -> (%4)
#     block1():
#       %17 : int = prim::Constant[value=-1]()
#       -> (%17)
#   return (%16)
