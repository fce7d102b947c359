def f(a: int, b: List[int] = 5):
    return b
# ---
# err/default.py:1:30: error: Expected a default value of type int[] on parameter, but it is of type int
# def f(a: int, b: List[int] = 5):
#                              ^
