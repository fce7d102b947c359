def f(a: int) -> int:
    y : float = a
    return 1
