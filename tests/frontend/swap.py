def f(a: int, b: int) -> Tuple[int, int]:
    for i in range(3):
        a, b = b, a + b
    return a, b
