def f(a: int) -> int:
    for i in a:
        pass
    return 1
