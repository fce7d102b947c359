def f(a: int) -> int:
    d = {"a": 1}
    return d[a]
