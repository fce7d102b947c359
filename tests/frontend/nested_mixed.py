def f(x: int, y: int) -> int:
    z = 0
    for i in range(x):
        if i > 2:
            if y > 3:
                return z
            elif y > 2:
                break
            else:
                z += 1
                continue
        z += 10
    else_ = z
    return else_ + 1
