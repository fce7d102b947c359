def f(x: int) -> int:
    s = 0
    for i in range(x):
        for j in range(i):
            if i * j > 20:
                return i * 100 + j
            if j > 7:
                break
            if j % 2 == 0:
                continue
            s += j
        s += 1000
    return s
# ---
# graph(%x : int):
#   %s : int = prim::Constant[value=0]()
#   %0 : bool = prim::Constant[value=1]()
#   %1 : bool = prim::Constant[value=0]()
#   %2 : int = prim::Uninitialized()
#   %s.1 : int, %3 : bool, %4 : int = prim::Loop(%x, %0, %s, %1, %2)
#     block0(%i : int, %s.2 : int, %5 : bool, %6 : int):
#       %7 : bool = prim::Constant[value=1]()
#       %8 : bool = prim::Constant[value=0]()
#       %9 : int = prim::Uninitialized()
#       %s.3 : int, %10 : bool, %11 : int = prim::Loop(%i, %7, %s.2, %8, %9)
#         block0(%j : int, %s.4 : int, %12 : bool, %13 : int):
#           %14 : int = aten::mul(%i, %j)
#           %15 : int = prim::Constant[value=20]()
#           %16 : bool = aten::gt(%14, %15)
#           %s.5 : int, %17 : bool, %18 : bool, %19 : int = prim::If(%16)
#             block0():
#               %20 : int = prim::Constant[value=100]()
#               %21 : int = aten::mul(%i, %20)
#               %22 : int = aten::add(%21, %j)
#               %23 : int = prim::Uninitialized()
#               %24 : bool = prim::Constant[value=1]()
#               %25 : bool = prim::Constant[value=0]()
#               -> (%23, %24, %25, %22)
#             block1():
#               %26 : int = prim::Constant[value=7]()
#               %27 : bool = aten::gt(%j, %26)
#               %s.6 : int, %28 : bool = prim::If(%27)
#                 block0():
#                   %29 : bool = prim::Constant[value=1]()
#                   -> (%s.4, %29)
#                 block1():
#                   %30 : int = prim::Constant[value=2]()
#                   %31 : int = aten::remainder(%j, %30)
#                   %32 : int = prim::Constant[value=0]()
#                   %33 : bool = aten::eq(%31, %32)
#                   %s.7 : int = prim::If(%33)
#                     block0():
#                       -> (%s.4)
#                     block1():
#                       %s.8 : int = aten::add(%s.4, %j)
#                       -> (%s.8)
#                   %34 : bool = prim::Constant[value=0]()
#                   -> (%s.7, %34)
#               %35 : bool = prim::Constant[value=0]()
#               %36 : int = prim::Uninitialized()
#               -> (%s.6, %35, %28, %36)
#           %37 : bool = aten::__or__(%17, %18)
#           %38 : bool = aten::__not__(%37)
#           -> (%38, %s.5, %17, %19)
#       %s.9 : int, %39 : bool, %40 : int = prim::If(%10)
#         block0():
#           %41 : int = prim::Uninitialized()
#           %42 : bool = prim::Constant[value=1]()
#           -> (%41, %42, %11)
#         block1():
#           %43 : int = prim::Constant[value=1000]()
#           %s.10 : int = aten::add(%s.3, %43)
#           %44 : bool = prim::Constant[value=0]()
#           %45 : int = prim::Uninitialized()
#           -> (%s.10, %44, %45)
#       %46 : bool = aten::__not__(%39)
#       -> (%46, %s.9, %39, %40)
#   %47 : int = prim::If(%3)
#     block0():
#       -> (%4)
#     block1():
#       -> (%s.1)
#   return (%47)
