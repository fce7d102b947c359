def f(x: Tensor) -> List[float]:
    l : List[float] = x.tolist()
    return l
# ---
# graph(%x : Tensor):
#   %0 : int = prim::Constant[value=1]()
#   %1 : int = prim::Constant[value=1]()
#   %l : float[] = prim::tolist(%x, %0, %1)
#   return (%l)
