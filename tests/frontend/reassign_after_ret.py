def f(a: int) -> str:
    y = 1.0
    if a > 0:
        return "q"
    y = "a"
    return y
# ---
# graph(%a : int):
#   %0 : int = prim::Constant[value=0]()
#   %1 : bool = aten::gt(%a, %0)
#   %2 : str = prim::If(%1)
#     block0():
#       %3 : str = prim::Constant[value="q"]()
#       -> (%3)
#     block1():
#       %y : str = prim::Constant[value="a"]()
#       -> (%y)
#   return (%2)
