def f(x: Optional[int], y: Optional[int]) -> int:
    if x is not None and y is not None and x > y:
        return x + y
    elif x is None or y is None:
        return -1
    return x - y
# ---
# graph(%x : int?,
#       %y : int?):
#   %0 : NoneType = prim::Constant()
#   %1 : bool = aten::__isnot__(%x, %0)
#   %2 : bool = prim::If(%1)
#     block0():
#       %3 : NoneType = prim::Constant()
#       %4 : bool = aten::__isnot__(%y, %3)
#       -> (%4)
#     block1():
#       %5 : bool = prim::Constant[value=0]()
#       -> (%5)
#   %6 : bool = prim::If(%2)
#     block0():
#       %7 : int = prim::unchecked_cast(%x)
#       %8 : int = prim::unchecked_cast(%y)
#       %9 : bool = aten::gt(%7, %8)
#       -> (%9)
#     block1():
#       %10 : bool = prim::Constant[value=0]()
#       -> (%10)
#   %11 : int = prim::If(%6)
#     block0():
#       %12 : int = prim::unchecked_cast(%y)
#       %13 : int = prim::unchecked_cast(%x)
#       %14 : int = aten::add(%13, %12)
#       -> (%14)
#     block1():
#       %15 : NoneType = prim::Constant()
#       %16 : bool = aten::__is__(%x, %15)
#       %17 : bool = prim::If(%16)
#         block0():
#           %18 : bool = prim::Constant[value=1]()
#           -> (%18)
#         block1():
#           %19 : NoneType = prim::Constant()
#           %20 : bool = aten::__is__(%y, %19)
#           -> (%20)
#       %21 : bool, %22 : int = prim::If(%17)
#         block0():
#           %23 : int = prim::Constant[value=-1]()
#           %24 : bool = prim::Constant[value=1]()
#           -> (%24, %23)
#         block1():
#           %25 : bool = prim::Constant[value=0]()
#           %26 : int = prim::Uninitialized()
#           -> (%25, %26)
#       %27 : int = prim::unchecked_cast(%x)
#       %28 : int = prim::unchecked_cast(%y)
#       %29 : int = prim::If(%21)
#         block0():
#           -> (%22)
#         block1():
#           %30 : int = aten::sub(%27, %28)
#           -> (%30)
#       -> (%29)
#   return (%11)
