def f(x: int) -> int:
    if x > 3:
        return 1
    if x > 2:
        return 2
    return 3
