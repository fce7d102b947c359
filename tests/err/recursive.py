def f(a: int) -> int:
    return f(a)
