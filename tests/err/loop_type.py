def f(a: int) -> int:
    x = 1
    for i in range(a):
        x = 2.5
    return x
