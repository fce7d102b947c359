def f(n: int) -> int:
    a, *b = (1, n, 3)
    c, d = b
    return a + c * 10 + d * 100
