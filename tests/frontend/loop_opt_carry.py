def f(n: int) -> Optional[int]:
    x : Optional[int] = None
    for i in range(n):
        if i == 3:
            x = i
    return x
