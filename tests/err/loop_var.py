def f(a: int) -> int:
    for i in range(a):
        y = i
    return y
# ---
# err/loop_var.py:4:12: error: undefined value y
#     return y
#            ^
