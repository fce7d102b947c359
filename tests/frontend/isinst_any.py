def f(a: Any) -> int:
    if isinstance(a, int):
        return a + 1
    elif isinstance(a, str):
        return len(a)
    elif isinstance(a, List[int]):
        return a[0]
    return 0
