def g(a: int):
    return a * 2.5
def f(a: int):
    return g(a) + 1
# ---
# graph(%a : int):
#   %0 : float = prim::CallFunction[name="g", function="g"](%a)
#   %1 : int = prim::Constant[value=1]()
#   %2 : float = aten::add(%0, %1)
#   return (%2)
