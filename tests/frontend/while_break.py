def f(x: int) -> int:
    i = 0
    while True:
        i += 1
        if i > x:
            break
        if i % 3 == 0:
            continue
        i += 2
    return i
