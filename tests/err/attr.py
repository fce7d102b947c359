def f(a: Tensor) -> int:
    return a.foo
# ---
# err/attr.py:2:12: error: 'Tensor' object has no attribute or method 'foo'.
#     return a.foo
#            ^~~~~
