def g(a: int) -> int:
    return a
def f(a: int) -> int:
    return g("x")
# ---
# err/call.py:4:12: error: g(int a) -> int:
# Expected a value of type 'int' for argument 'a' but instead found type 'str'.
#     return g("x")
#            ^
