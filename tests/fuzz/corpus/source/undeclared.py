def f(a: int) -> int:
    return g(a)
def g(a: int) -> i@nt:
    return f(a)
# ---
# err/recursion_far.py:2:12: error: function 'g' is called recursively. Recursive calls are not supported
#     return g(a)
#            ^
# err/recursion_far.py:4:12: note: 'f' is being compiled since it was called from here
#     return f(a)
#            ^
