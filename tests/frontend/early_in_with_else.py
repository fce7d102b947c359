def f(a: int) -> int:
    if a > 10:
        r = 1
    elif a > 5:
        return 7
    else:
        r = 2
    return r + 1
# ---
# graph(%a : int):
#   %0 : int = prim::Constant[value=10]()
#   %1 : bool = aten::gt(%a, %0)
#   %r : int, %2 : bool, %3 : int = prim::If(%1)
#     block0():
#       %r.1 : int = prim::Constant[value=1]()
#       %4 : bool = prim::Constant[value=0]()
#       %5 : int = prim::Uninitialized()
#       -> (%r.1, %4, %5)
#     block1():
#       %6 : int = prim::Constant[value=5]()
#       %7 : bool = aten::gt(%a, %6)
#       %r.2 : int, %8 : bool, %9 : int = prim::If(%7)
#         block0():
#           %10 : int = prim::Constant[value=7]()
#           %11 : int = prim::Uninitialized()
#           %12 : bool = prim::Constant[value=1]()
#           -> (%11, %12, %10)
#         block1():
#           %r.3 : int = prim::Constant[value=2]()
#           %13 : bool = prim::Constant[value=0]()
#           %14 : int = prim::Uninitialized()
#           -> (%r.3, %13, %14)
#       -> (%r.2, %8, %9)
#   %15 : int = prim::If(%2)
#     block0():
#       -> (%3)
#     block1():
#       %16 : int = prim::Constant[value=1]()
#       %17 : int = aten::add(%r, %16)
#       -> (%17)
#   return (%15)
