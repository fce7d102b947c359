def f(a: int) -> int:
    if a > 0:
        x = 2
    else:
        x = "s"
    return a
# ---
# graph(%a : int):
#   %0 : int = prim::Constant[value=0]()
#   %1 : bool = aten::gt(%a, %0)
#   prim::If(%1)
#     block0():
#       -> ()
#     block1():
#       -> ()
#   return (%a)
