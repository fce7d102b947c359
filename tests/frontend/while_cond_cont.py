def f(x: int) -> List[int]:
    out : List[int] = []
    while x > 0:
        x -= 1
        if x % 2 == 0:
            continue
        out.append(x)
    return out
# ---
# graph(%x : int):
#   %out : int[] = prim::ListConstruct()
#   %0 : int = prim::Constant[value=0]()
#   %1 : bool = aten::gt(%x, %0)
#   %2 : int = prim::Constant[value=9223372036854775807]()
#   %x.1 : int = prim::Loop(%2, %1, %x)
#     block0(%3 : int, %x.2 : int):
#       %4 : int = prim::Constant[value=1]()
#       %x.3 : int = aten::sub(%x.2, %4)
#       %5 : int = prim::Constant[value=2]()
#       %6 : int = aten::remainder(%x.3, %5)
#       %7 : int = prim::Constant[value=0]()
#       %8 : bool = aten::eq(%6, %7)
#       prim::If(%8)
#         block0():
#           -> ()
#         block1():
#           %9 : int[] = aten::append(%out, %x.3)
#           -> ()
#       %10 : int = prim::Constant[value=0]()
#       %11 : bool = aten::gt(%x.3, %10)
#       -> (%11, %x.3)
#   return (%out)
