# NaN in min and max, in comparisons with itself and in lists. PyTorch's executor takes x == x to be true.
def smaller(a: float, b: float):
    return min(a, b), max(a, b), min(b, a), max(b, a)
def with_int(a: float, i: int):
    return min(a, i), max(a, i), min(i, a), max(i, a)
def itself(x: float):
    y = x
    return x == x, x != x, y == x, x < x, x >= x
def of_lists(a: List[float], b: List[float]):
    c = a
    return min(a, b), max(a, b), a == c, a != c, a == a[:], a == b
def forward():
    n = float("nan")
    for a, b in [(n, 1.), (1., n), (0., -0.), (-0., 0.), (n, n), (2., 3.)]:
        print(smaller(a, b))
    print(with_int(n, 2), with_int(2.5, 2), with_int(-0., 0))
    print(itself(n), itself(1.))
    for l in [[n, 1., 2.], [1., n, 2.], [2., n, 1.]]:
        print(min(l), max(l), of_lists(l, [1., n, 2.]), of_lists([1., n, 2.], l), of_lists(l, l[1:]))
    print(of_lists([1.], [1., 0.]), of_lists([1., 0.], [1.]), of_lists([1.], [1.]))
# ---
# (1., 1., nan, nan)
# (nan, nan, 1., 1.)
# (0., 0., 0., 0.)
# (0., 0., 0., 0.)
# (nan, nan, nan, nan)
# (2., 3., 2., 3.)
# (2., 2., nan, nan) (2., 2.5, 2., 2.5) (0., 0., 0., 0.)
# (True, False, True, False, False) (True, False, True, False, True)
# nan nan ([nan, 1., 2.], [nan, 1., 2.], True, False, False, False) ([1., nan, 2.], [1., nan, 2.], True, False, False, False) ([nan, 1., 2.], [nan, 1., 2.], True, False, False, False)
# 1. 2. ([1., nan, 2.], [1., nan, 2.], True, False, False, False) ([1., nan, 2.], [1., nan, 2.], True, False, False, False) ([1., nan, 2.], [1., nan, 2.], True, False, False, False)
# 1. 2. ([1., nan, 2.], [2., nan, 1.], True, False, False, False) ([1., nan, 2.], [2., nan, 1.], True, False, False, False) ([2., nan, 1.], [2., nan, 1.], True, False, False, False)
# ([1.], [1., 0.], True, False, True, False) ([1.], [1., 0.], True, False, True, False) ([1.], [1.], True, False, True, True)
# None
