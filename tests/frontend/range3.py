def f(n: int) -> List[int]:
    l : List[int] = []
    for i in range(n, 0, -2):
        l.append(i)
    return l
# ---
# graph(%n : int):
#   %l : int[] = prim::ListConstruct()
#   %0 : int = prim::Constant[value=0]()
#   %1 : int = prim::Constant[value=-2]()
#   %2 : int = aten::__range_length(%n, %0, %1)
#   %3 : bool = prim::Constant[value=1]()
#   prim::Loop(%2, %3)
#     block0(%4 : int):
#       %i : int = aten::__derive_index(%4, %n, %1)
#       %5 : int[] = aten::append(%l, %i)
#       %6 : bool = prim::Constant[value=1]()
#       -> (%6)
#   return (%l)
