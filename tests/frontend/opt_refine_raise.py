def f(x: Optional[int]) -> int:
    if x is None:
        raise RuntimeError("none")
    return x + 1
# ---
# graph(%x : int?):
#   %0 : NoneType = prim::Constant()
#   %1 : bool = aten::__is__(%x, %0)
#   prim::If(%1)
#     block0():
#       %2 : str = prim::Constant[value="none"]()
#       %3 : str = prim::Constant[value="builtins.RuntimeError"]()
#       prim::RaiseException(%2, %3)
#       -> ()
#     block1():
#       -> ()
#   %4 : int = prim::unchecked_cast(%x)
#   %5 : int = prim::Constant[value=1]()
#   %6 : int = aten::add(%4, %5)
#   return (%6)
