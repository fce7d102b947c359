def f(a: Union[int, str, List[int]]) -> int:
    if isinstance(a, (int, str)):
        if isinstance(a, int):
            return a
        return len(a)
    return a[0]
# ---
# graph(%a : Union(int[], int, str)):
#   %0 : bool = prim::isinstance[types=[int, str]](%a)
#   %1 : int = prim::If(%0)
#     block0():
#       %2 : Union(int, str) = prim::unchecked_cast(%a)
#       %3 : bool = prim::isinstance[types=[int]](%2)
#       %4 : int = prim::If(%3)
#         block0():
#           %5 : int = prim::unchecked_cast(%2)
#           -> (%5)
#         block1():
#           %6 : str = prim::unchecked_cast(%2)
#           %7 : int = aten::len(%6)
#           -> (%7)
#       -> (%4)
#     block1():
#       %8 : int[] = prim::unchecked_cast(%a)
#       %9 : int = prim::Constant[value=0]()
#       %10 : int = aten::__getitem__(%8, %9)
#       -> (%10)
#   return (%1)
