def f(x: int, y: int) -> int:
    z = 0
    for i in range(x):
        if i > 2:
            if y > 3:
                return z
            elif y > 2:
                break
            else:
                z += 1
                continue
        z += 10
    else_ = z
    return else_ + 1
# ---
# graph(%x : int,
#       %y : int):
#   %z : int = prim::Constant[value=0]()
#   %0 : bool = prim::Constant[value=1]()
#   %1 : bool = prim::Constant[value=0]()
#   %2 : int = prim::Uninitialized()
#   %z.1 : int, %3 : bool, %4 : int = prim::Loop(%x, %0, %z, %1, %2)
#     block0(%i : int, %z.2 : int, %5 : bool, %6 : int):
#       %7 : int = prim::Constant[value=2]()
#       %8 : bool = aten::gt(%i, %7)
#       %z.3 : int, %9 : bool, %10 : bool, %11 : int = prim::If(%8)
#         block0():
#           %12 : int = prim::Constant[value=3]()
#           %13 : bool = aten::gt(%y, %12)
#           %z.4 : int, %14 : bool, %15 : bool, %16 : int = prim::If(%13)
#             block0():
#               %17 : int = prim::Uninitialized()
#               %18 : bool = prim::Constant[value=1]()
#               %19 : bool = prim::Constant[value=0]()
#               -> (%17, %18, %19, %z.2)
#             block1():
#               %20 : int = prim::Constant[value=2]()
#               %21 : bool = aten::gt(%y, %20)
#               %z.5 : int, %22 : bool = prim::If(%21)
#                 block0():
#                   %23 : bool = prim::Constant[value=1]()
#                   -> (%z.2, %23)
#                 block1():
#                   %24 : int = prim::Constant[value=1]()
#                   %z.6 : int = aten::add(%z.2, %24)
#                   %25 : bool = prim::Constant[value=0]()
#                   -> (%z.6, %25)
#               %26 : bool = prim::Constant[value=0]()
#               %27 : int = prim::Uninitialized()
#               -> (%z.5, %26, %22, %27)
#           -> (%z.4, %14, %15, %16)
#         block1():
#           %28 : int = prim::Constant[value=10]()
#           %z.7 : int = aten::add(%z.2, %28)
#           %29 : bool = prim::Constant[value=0]()
#           %30 : bool = prim::Constant[value=0]()
#           %31 : int = prim::Uninitialized()
#           -> (%z.7, %29, %30, %31)
#       %32 : bool = aten::__or__(%9, %10)
#       %33 : bool = aten::__not__(%32)
#       -> (%33, %z.3, %9, %11)
#   %34 : int = prim::If(%3)
#     block0():
#       -> (%4)
#     block1():
#       %35 : int = prim::Constant[value=1]()
#       %36 : int = aten::add(%z.1, %35)
#       -> (%36)
#   return (%34)
