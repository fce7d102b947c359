def f(x: int) -> int:
    for i in range(x):
        if i * i > 50:
            return i
    return -1
