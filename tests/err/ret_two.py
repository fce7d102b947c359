def f(a: int):
    if a > 0:
        return 1
    return 2.5
