def f(x: Tensor) -> Tensor:
    y = x.clone()
    y += 1
    y *= 2
    y -= x
    y /= 3
    y %= 2
    y **= 2
    return y
# ---
# graph(%x : Tensor):
#   %0 : NoneType = prim::Constant()
#   %y : Tensor = aten::clone(%x, %0)
#   %1 : int = prim::Constant[value=1]()
#   %2 : int = prim::Constant[value=1]()
#   %y.1 : Tensor = aten::add_(%y, %1, %2)
#   %3 : int = prim::Constant[value=2]()
#   %y.2 : Tensor = aten::mul_(%y.1, %3)
#   %4 : int = prim::Constant[value=1]()
#   %y.3 : Tensor = aten::sub_(%y.2, %x, %4)
#   %5 : int = prim::Constant[value=3]()
#   %y.4 : Tensor = aten::div_(%y.3, %5)
#   %6 : int = prim::Constant[value=2]()
#   %y.5 : Tensor = aten::fmod_(%y.4, %6)
#   %7 : int = prim::Constant[value=2]()
#   %y.6 : Tensor = aten::pow(%y.5, %7)
#   return (%y.6)
