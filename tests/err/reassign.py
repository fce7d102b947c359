def f(a: int) -> int:
    x = 1
    if a > 0:
        x = 2.0
    return x
