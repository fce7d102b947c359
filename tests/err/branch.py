def f(a: int) -> int:
    if a > 0:
        x = 2
    return x
# ---
# err/branch.py:4:12: error: x is not defined in the false branch and was used here
#     return x
#            ^
# err/branch.py:2:5: note: this is where
#     if a > 0:
#     ^~~~~~~~
