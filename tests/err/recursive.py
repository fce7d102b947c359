def f(a: int) -> int:
    return f(a)
# ---
# err/recursive.py:2:12: error: function 'f' is called recursively. Recursive calls are not supported
#     return f(a)
#            ^
