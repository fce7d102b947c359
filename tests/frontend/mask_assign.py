def f(x: Tensor) -> Tensor:
    y = x.clone()
    y[y > 1] = 0
    y[x < 1] *= 3
    return y
# ---
# graph(%x : Tensor):
#   %0 : NoneType = prim::Constant()
#   %y : Tensor = aten::clone(%x, %0)
#   %1 : int = prim::Constant[value=0]()
#   %2 : int = prim::Constant[value=1]()
#   %3 : Tensor = aten::gt(%y, %2)
#   %4 : Tensor?[] = prim::ListConstruct(%3)
#   %5 : int = prim::dtype(%y)
#   %6 : Device = prim::device(%y)
#   %7 : bool = prim::Constant[value=0]()
#   %8 : Tensor = aten::tensor(%1, %5, %6, %7)
#   %9 : bool = prim::Constant[value=0]()
#   %10 : Tensor = aten::index_put_(%y, %4, %8, %9)
#   %11 : int = prim::Constant[value=1]()
#   %12 : Tensor = aten::lt(%x, %11)
#   %13 : int = prim::Constant[value=3]()
#   %14 : Tensor?[] = prim::ListConstruct(%12)
#   %15 : Tensor = aten::index(%y, %14)
#   %16 : Tensor = aten::mul_(%15, %13)
#   %17 : Tensor?[] = prim::ListConstruct(%12)
#   %18 : bool = prim::Constant[value=0]()
#   %19 : Tensor = aten::index_put_(%y, %17, %16, %18)
#   return (%y)
