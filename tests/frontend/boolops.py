def f(a: int, b: float, l: List[int], st: str) -> int:
    r = 0
    if a and b:
        r += 1
    if l or st:
        r += 2
    if not l:
        r += 4
    return r
