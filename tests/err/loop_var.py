def f(a: int) -> int:
    for i in range(a):
        y = i
    return y
