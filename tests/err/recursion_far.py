def f(a: int) -> int:
    return g(a)
def g(a: int) -> int:
    return f(a)
