def f(a: int) -> int:
    if a > 0:
        x = 2
    return x
