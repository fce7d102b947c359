def f(a: int) -> int:
    return b
