def f(n: int) -> int:
    a, *b = (1, n, 3)
    c, d = b
    return a + c * 10 + d * 100
# ---
# graph(%n : int):
#   %a : int = prim::Constant[value=1]()
#   %0 : int = prim::Constant[value=3]()
#   %b : (int, int) = prim::TupleConstruct(%n, %0)
#   %c : int, %d : int = prim::TupleUnpack(%b)
#   %1 : int = prim::Constant[value=10]()
#   %2 : int = aten::mul(%c, %1)
#   %3 : int = aten::add(%a, %2)
#   %4 : int = prim::Constant[value=100]()
#   %5 : int = aten::mul(%d, %4)
#   %6 : int = aten::add(%3, %5)
#   return (%6)
