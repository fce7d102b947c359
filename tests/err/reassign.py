def f(a: int) -> int:
    x = 1
    if a > 0:
        x = 2.0
    return x
# ---
# err/reassign.py:4:9: error: Variable 'x' previously had type int but is now being assigned to a value of type float
#         x = 2.0
#         ^
