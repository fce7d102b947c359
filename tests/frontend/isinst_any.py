def f(a: Any) -> int:
    if isinstance(a, int):
        return a + 1
    elif isinstance(a, str):
        return len(a)
    elif isinstance(a, List[int]):
        return a[0]
    return 0
# ---
# graph(%a : Any):
#   %0 : bool = prim::isinstance[types=[int]](%a)
#   %1 : int = prim::If(%0)
#     block0():
#       %2 : int = prim::unchecked_cast(%a)
#       %3 : int = prim::Constant[value=1]()
#       %4 : int = aten::add(%2, %3)
#       -> (%4)
#     block1():
#       %5 : bool = prim::isinstance[types=[str]](%a)
#       %6 : bool, %7 : int = prim::If(%5)
#         block0():
#           %8 : str = prim::unchecked_cast(%a)
#           %9 : int = aten::len(%8)
#           %10 : bool = prim::Constant[value=1]()
#           -> (%10, %9)
#         block1():
#           %11 : bool = prim::isinstance[types=[int[]]](%a)
#           %12 : bool, %13 : int = prim::If(%11)
#             block0():
#               %14 : int[] = prim::unchecked_cast(%a)
#               %15 : int = prim::Constant[value=0]()
#               %16 : int = aten::__getitem__(%14, %15)
#               %17 : bool = prim::Constant[value=1]()
#               -> (%17, %16)
#             block1():
#               %18 : bool = prim::Constant[value=0]()
#               %19 : int = prim::Uninitialized()
#               -> (%18, %19)
#           -> (%12, %13)
#       %20 : int = prim::If(%6)
#         block0():
#           -> (%7)
#         block1():
#           %21 : int = prim::Constant[value=0]()
#           -> (%21)
#       -> (%20)
#   return (%1)
