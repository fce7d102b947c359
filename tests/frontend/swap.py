def f(a: int, b: int) -> Tuple[int, int]:
    for i in range(3):
        a, b = b, a + b
    return a, b
# ---
# graph(%a : int,
#       %b : int):
#   %0 : int = prim::Constant[value=3]()
#   %1 : bool = prim::Constant[value=1]()
#   %a.1 : int, %b.1 : int = prim::Loop(%0, %1, %a, %b)
#     block0(%i : int, %a.2 : int, %b.2 : int):
#       %b.3 : int = aten::add(%a.2, %b.2)
#       %2 : bool = prim::Constant[value=1]()
#       -> (%2, %b.2, %b.3)
#   %3 : (int, int) = prim::TupleConstruct(%a.1, %b.1)
#   return (%3)
