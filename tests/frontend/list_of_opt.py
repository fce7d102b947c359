def f(a: Tensor) -> int:
    l = [None, a]
    n = 0
    for x in l:
        if x is not None:
            n += x.numel()
    return n
# ---
# graph(%a : Tensor):
#   %0 : NoneType = prim::Constant()
#   %l : Tensor?[] = prim::ListConstruct(%0, %a)
#   %n : int = prim::Constant[value=0]()
#   %1 : int = aten::len(%l)
#   %2 : bool = prim::Constant[value=1]()
#   %n.1 : int = prim::Loop(%1, %2, %n)
#     block0(%3 : int, %n.2 : int):
#       %x : Tensor? = aten::__getitem__(%l, %3)
#       %4 : NoneType = prim::Constant()
#       %5 : bool = aten::__isnot__(%x, %4)
#       %n.3 : int = prim::If(%5)
#         block0():
#           %6 : Tensor = prim::unchecked_cast(%x)
#           %7 : int = aten::numel(%6)
#           %n.4 : int = aten::add(%n.2, %7)
#           -> (%n.4)
#         block1():
#           -> (%n.2)
#       %8 : bool = prim::Constant[value=1]()
#       -> (%8, %n.3)
#   return (%n.1)
