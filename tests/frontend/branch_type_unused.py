def f(a: int) -> int:
    if a > 0:
        x = 2
    else:
        x = "s"
    return a
