def g(a: int, b: int = 5, c: float = 2.0) -> float:
    return a * b * c
def f(a: int) -> float:
    return g(a) + g(a, 2) + g(a, c=3.0) + g(b=1, a=a)
# ---
# graph(%a : int):
#   %0 : int = prim::Constant[value=5]()
#   %1 : float = prim::Constant[value=2.]()
#   %2 : float = prim::CallFunction[name="g", function="g"](%a, %0, %1)
#   %3 : int = prim::Constant[value=2]()
#   %4 : float = prim::Constant[value=2.]()
#   %5 : float = prim::CallFunction[name="g", function="g"](%a, %3, %4)
#   %6 : float = aten::add(%2, %5)
#   %7 : float = prim::Constant[value=3.]()
#   %8 : int = prim::Constant[value=5]()
#   %9 : float = prim::CallFunction[name="g", function="g"](%a, %8, %7)
#   %10 : float = aten::add(%6, %9)
#   %11 : int = prim::Constant[value=1]()
#   %12 : float = prim::Constant[value=2.]()
#   %13 : float = prim::CallFunction[name="g", function="g"](%a, %11, %12)
#   %14 : float = aten::add(%10, %13)
#   return (%14)
