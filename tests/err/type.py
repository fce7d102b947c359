def f(a: int) -> str:
    return a
