def f(x: Tensor, n: int) -> Tensor:
    y = x.clone()
    y[0] += 1
    y[1:] *= 2
    l = [1, 2]
    l[0] += n
    d = {"a": 1}
    d["a"] += l[0]
    return y * d["a"]
# ---
# graph(%x : Tensor,
#       %n : int):
#   %0 : NoneType = prim::Constant()
#   %y : Tensor = aten::clone(%x, %0)
#   %1 : int = prim::Constant[value=0]()
#   %2 : int = prim::Constant[value=0]()
#   %3 : Tensor = aten::select(%y, %2, %1)
#   %4 : int = prim::Constant[value=1]()
#   %5 : int = prim::Constant[value=1]()
#   %6 : Tensor = aten::add_(%3, %4, %5)
#   %7 : int = prim::Constant[value=1]()
#   %8 : NoneType = prim::Constant()
#   %9 : int = prim::Constant[value=1]()
#   %10 : int = prim::Constant[value=0]()
#   %11 : Tensor = aten::slice(%y, %10, %9, %8, %7)
#   %12 : int = prim::Constant[value=2]()
#   %13 : Tensor = aten::mul_(%11, %12)
#   %14 : int = prim::Constant[value=1]()
#   %15 : int = prim::Constant[value=2]()
#   %l : int[] = prim::ListConstruct(%14, %15)
#   %16 : int = prim::Constant[value=0]()
#   %17 : int = prim::Constant[value=0]()
#   %18 : int = aten::__getitem__(%l, %17)
#   %19 : int = aten::add(%18, %n)
#   %20 : int[] = aten::_set_item(%l, %16, %19)
#   %21 : str = prim::Constant[value="a"]()
#   %22 : int = prim::Constant[value=1]()
#   %d : Dict(str, int) = prim::DictConstruct(%21, %22)
#   %23 : str = prim::Constant[value="a"]()
#   %24 : str = prim::Constant[value="a"]()
#   %25 : int = aten::__getitem__(%d, %24)
#   %26 : int = prim::Constant[value=0]()
#   %27 : int = aten::__getitem__(%l, %26)
#   %28 : int = aten::add(%25, %27)
#   aten::_set_item(%d, %23, %28)
#   %29 : str = prim::Constant[value="a"]()
#   %30 : int = aten::__getitem__(%d, %29)
#   %31 : Tensor = aten::mul(%y, %30)
#   return (%31)
