def f(a: int) -> str:
    return a
# ---
# err/type.py:2:5: error: Return value was annotated as having type str but is actually of type int
#     return a
#     ^~~~~~~~
