def g(a: int) -> int:
    return a
def f(a: int) -> int:
    return g(a, a)
# ---
# err/call_n.py:4:12: error: g(int a) -> int:
# Expected at most 1 arguments but found 2 positional arguments.
#     return g(a, a)
#            ^
