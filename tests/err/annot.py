def f(a: int) -> int:
    y : float = a
    return 1
# ---
# err/annot.py:2:5: error: Variable 'y' is annotated with type float but is being assigned to a value of type int
#     y : float = a
#     ^
