# Whether tuples can be sorted is checked on their elements. An empty list always sorts.
def pairs(n: int):
    l: List[Tuple[float, List[int]]] = []
    for i in range(n):
        l.append((float(-i), [i]))
    l.sort()
    return sorted(l)
def maybe(n: int):
    l: List[Tuple[float, Optional[int]]] = []
    for i in range(n):
        l.append((float(-i), i))
    return sorted(l)
def lists(n: int):
    l: List[List[int]] = []
    for i in range(n):
        l.append([i])
    return sorted(l)
def forward():
    print(pairs(0), maybe(0), maybe(1), maybe(3), lists(0))
    return pairs(2)
# ---
# [] [] [(0., 0)] [(-2., 2), (-1., 1), (0., 0)] []
# error: Traceback of TorchScript (most recent call last):
#   File "run/sort_empty.py", line 20, in forward
#     return pairs(2)
#            ~~~~~ <--- HERE
#   File "run/sort_empty.py", line 6, in pairs
#     l.sort()
#     ~~~~~~ <--- HERE
#
# RuntimeError: Contained elements in Tuple[float, List[int]] are not sortable. Only Int, Bool, Float, String, Tensor, a User Defined Class with __lt__ method defined or Tuples of aforementionted types can be sorted.
