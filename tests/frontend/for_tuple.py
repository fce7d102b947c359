def f(n: int) -> float:
    s = 0.0
    for x in (1, 2.5, n):
        s += float(x)
    return s
# ---
# graph(%n : int):
#   %s : float = prim::Constant[value=0.]()
#   %0 : int = prim::Constant[value=1]()
#   %1 : float = prim::Constant[value=2.5]()
#   %2 : (int, float, int) = prim::TupleConstruct(%0, %1, %n)
#   %3 : int = prim::Constant[value=2]()
#   %x : int = prim::TupleIndex(%2, %3)
#   %4 : int = prim::Constant[value=1]()
#   %x.1 : float = prim::TupleIndex(%2, %4)
#   %5 : int = prim::Constant[value=0]()
#   %x.2 : int = prim::TupleIndex(%2, %5)
#   %6 : float = aten::Float(%x.2)
#   %s.1 : float = aten::add(%s, %6)
#   %s.2 : float = aten::add(%s.1, %x.1)
#   %7 : float = aten::Float(%x)
#   %s.3 : float = aten::add(%s.2, %7)
#   return (%s.3)
