def f(a: int) -> int:
    return b
# ---
# err/undef.py:2:12: error: undefined value b
#     return b
#            ^
