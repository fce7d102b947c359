def f(a: int) -> List[int]:
    return [1, "a"]
