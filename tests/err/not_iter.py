def f(a: int) -> int:
    for i in a:
        pass
    return 1
# ---
# err/not_iter.py:2:14: error: 'int' object is not iterable
#     for i in a:
#              ^
