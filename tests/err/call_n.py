def g(a: int) -> int:
    return a
def f(a: int) -> int:
    return g(a, a)
