def f(a: Optional[int]) -> int:
    if a:
        return 1
    return 2
# ---
# err/opt_bool.py:2:8: error: Could not cast value of type Optional[int] to bool
#     if a:
#        ^
