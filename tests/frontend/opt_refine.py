def f(x: Optional[int]) -> int:
    if x is None:
        x = 4
    return x + 1
