def first(l: List[int]):
    r: Optional[int] = None
    for i in l:
        if i > 5:
            if i > 10:
                continue
            r = 1
        else:
            r = 2
        print(r + 1)
    return r

def second():
    x: Optional[int] = None
    i = 0
    j = 0
    while x is None or torch.jit._unwrap_optional(x) > 3:
        if i < 3:
            if i < 3:
                x = torch.jit.annotate(Optional[int], None)
                i += 1
                continue
            x = 1
        else:
            x = 1 if x is None else x
        x = x + 1
        j = x + x
    return x, j

def third(l: List[int], o: Optional[int]):
    for i in l:
        if o is None:
            if i > 3:
                break
            o = i
        if i == 2:
            return o * 10
        print(o + i)
    return -1

def fourth(u: Union[int, str], n: int):
    while n > 0:
        n -= 1
        if isinstance(u, str):
            if n == 1:
                continue
            v = len(u)
            u = v
        else:
            u = u + 1
        print(u + 1)
    return u

def forward():
    print(first([3, 7, 12, 1]), second(), third([1, 0, 2], None), third([5], None), third([1, 2], None), fourth("abc", 4), fourth(5, 2))
# ---
# 3
# 2
# 3
# 2
# 1
# 2
# 4
# 5
# 6
# 7
# 7
# 8
# 2 (2, 4) 10 -1 10 6 7
# None
