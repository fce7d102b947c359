def f(n: int) -> List[int]:
    return [i * i for i in range(n)]
# ---
# graph(%n : int):
#   %0 : int[] = prim::ListConstruct()
#   %1 : bool = prim::Constant[value=1]()
#   prim::Loop(%n, %1)
#     block0(%i : int):
#       %2 : int = aten::mul(%i, %i)
#       %3 : int[] = aten::append(%0, %2)
#       %4 : bool = prim::Constant[value=1]()
#       -> (%4)
#   return (%0)
