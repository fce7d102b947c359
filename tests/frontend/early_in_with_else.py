def f(a: int) -> int:
    if a > 10:
        r = 1
    elif a > 5:
        return 7
    else:
        r = 2
    return r + 1
