def g(a: int, b: int = 5, c: float = 2.0) -> float:
    return a * b * c
def f(a: int) -> float:
    return g(a) + g(a, 2) + g(a, c=3.0) + g(b=1, a=a)
