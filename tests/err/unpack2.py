def f(a: int) -> int:
    x, y = (a, a, a)
    return x
# ---
# err/unpack2.py:2:12: error: too many values to unpack: need 2 but found 3
#     x, y = (a, a, a)
#            ^~~~~~~~~
