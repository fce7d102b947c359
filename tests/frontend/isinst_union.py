def f(a: Union[int, str, List[int]]) -> int:
    if isinstance(a, (int, str)):
        if isinstance(a, int):
            return a
        return len(a)
    return a[0]
