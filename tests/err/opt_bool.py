def f(a: Optional[int]) -> int:
    if a:
        return 1
    return 2
