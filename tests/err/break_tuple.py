def f(a: int) -> int:
    for i in (1, 2):
        break
    return 1
