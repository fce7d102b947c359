def f(a: int) -> int:
    x = 1
    for i in range(a):
        x = 2.5
    return x
# ---
# err/loop_type.py:4:9: error: Variable 'x' previously had type int but is now being assigned to a value of type float
#         x = 2.5
#         ^
