def f(n: int) -> int:
    x : Optional[int] = None
    while x is None:
        n += 1
        if n > 10:
            x = n
    return x
# ---
# err/opt_while.py:7:5: error: Return value was annotated as having type int but is actually of type Optional[int]
#     return x
#     ^~~~~~~~
