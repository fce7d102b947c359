def f(x: int) -> List[int]:
    out : List[int] = []
    while x > 0:
        x -= 1
        if x % 2 == 0:
            continue
        out.append(x)
    return out
