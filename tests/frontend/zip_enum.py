def f(a: List[int], b: List[float]) -> float:
    s = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        s += i * x * y
    return s
# ---
# graph(%a : int[],
#       %b : float[]):
#   %s : float = prim::Constant[value=0.]()
#   %0 : int = aten::len(%a)
#   %1 : int = aten::len(%b)
#   %2 : int[] = prim::ListConstruct(%0, %1)
#   %3 : int = prim::min(%2)
#   %4 : bool = prim::Constant[value=1]()
#   %s.1 : float = prim::Loop(%3, %4, %s)
#     block0(%i : int, %s.2 : float):
#       %x : int = aten::__getitem__(%a, %i)
#       %y : float = aten::__getitem__(%b, %i)
#       %5 : int = aten::mul(%i, %x)
#       %6 : float = aten::mul(%5, %y)
#       %s.3 : float = aten::add(%s.2, %6)
#       %7 : bool = prim::Constant[value=1]()
#       -> (%7, %s.3)
#   return (%s.1)
