def f(a: int) -> int:
    x, y, z = (a, a)
    return x
# ---
# err/unpack.py:2:15: error: need 3 values to unpack but found only 2
#     x, y, z = (a, a)
#               ^~~~~~
