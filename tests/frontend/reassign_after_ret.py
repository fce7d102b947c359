def f(a: int) -> str:
    y = 1.0
    if a > 0:
        return "q"
    y = "a"
    return y
