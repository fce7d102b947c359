def f(a: int) -> int:
    if a > 0:
        x = 2
    else:
        x = "s"
    return x
# ---
# err/branch_type.py:6:12: error: Type mismatch: x is set to type int in the true branch and type str in the false branch and was used here
#     return x
#            ^
# err/branch_type.py:2:5: note: this is where
#     if a > 0:
#     ^~~~~~~~
