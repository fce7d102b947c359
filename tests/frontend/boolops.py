def f(a: int, b: float, l: List[int], st: str) -> int:
    r = 0
    if a and b:
        r += 1
    if l or st:
        r += 2
    if not l:
        r += 4
    return r
# ---
# graph(%a : int,
#       %b : float,
#       %l : int[],
#       %st : str):
#   %r : int = prim::Constant[value=0]()
#   %0 : bool = aten::Bool(%a)
#   %1 : bool = prim::If(%0)
#     block0():
#       %2 : bool = aten::Bool(%b)
#       -> (%2)
#     block1():
#       %3 : bool = prim::Constant[value=0]()
#       -> (%3)
#   %r.1 : int = prim::If(%1)
#     block0():
#       %4 : int = prim::Constant[value=1]()
#       %r.2 : int = aten::add(%r, %4)
#       -> (%r.2)
#     block1():
#       -> (%r)
#   %5 : int = prim::Constant[value=0]()
#   %6 : int = aten::len(%l)
#   %7 : bool = aten::ne(%6, %5)
#   %8 : bool = prim::If(%7)
#     block0():
#       %9 : bool = prim::Constant[value=1]()
#       -> (%9)
#     block1():
#       %10 : int = prim::Constant[value=0]()
#       %11 : int = aten::len(%st)
#       %12 : bool = aten::ne(%11, %10)
#       -> (%12)
#   %r.3 : int = prim::If(%8)
#     block0():
#       %13 : int = prim::Constant[value=2]()
#       %r.4 : int = aten::add(%r.1, %13)
#       -> (%r.4)
#     block1():
#       -> (%r.1)
#   %14 : int = prim::Constant[value=0]()
#   %15 : int = aten::len(%l)
#   %16 : bool = aten::ne(%15, %14)
#   %17 : bool = aten::__not__(%16)
#   %r.5 : int = prim::If(%17)
#     block0():
#       %18 : int = prim::Constant[value=4]()
#       %r.6 : int = aten::add(%r.3, %18)
#       -> (%r.6)
#     block1():
#       -> (%r.3)
#   return (%r.5)
