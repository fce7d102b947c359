def f(x: Optional[int], y: Optional[int]) -> int:
    if x is not None and y is not None and x > y:
        return x + y
    elif x is None or y is None:
        return -1
    return x - y
