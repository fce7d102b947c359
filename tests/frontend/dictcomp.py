def f(n: int) -> Dict[int, float]:
    return {i: float(i) * 2.0 for i in range(n)}
# ---
# graph(%n : int):
#   %0 : Dict(int, float) = prim::DictConstruct()
#   %1 : bool = prim::Constant[value=1]()
#   prim::Loop(%n, %1)
#     block0(%i : int):
#       %2 : float = aten::Float(%i)
#       %3 : float = prim::Constant[value=2.]()
#       %4 : float = aten::mul(%2, %3)
#       aten::_set_item(%0, %i, %4)
#       %5 : bool = prim::Constant[value=1]()
#       -> (%5)
#   return (%0)
