def forward():
    n = int(torch.ones(1).item()) * 3
    a, b, c = 1, 2, 3
    for i in range(n):                  # all go round
        a, b, c = c, a, b
        print(i, a, b, c)
    x = torch.zeros(2)
    y = torch.ones(2)
    for i in range(n):                  # one value in two places, with a new one each trip
        t = x + y
        x, y = t, t
        print(x, y)
    for i in range(n):                  # two places of which one is kept
        t = x * 0.5
        x = t
        if i == 1:
            y = t
        print(x, y)
    l = [1, 2]
    m = [3]
    i = 0
    while i < n and len(l) < 6:         # lists change places
        l, m = m, l
        l.append(i)
        i += 1
        print(l, m)
    if n > 2:
        p, q, r = l, m, l
    else:
        p, q, r = m, m, m
    p.append(7)
    print(p, q, r)
    if n > 3:
        u, v = 1, 2
    elif n > 2:
        v, u = 1, 2
    else:
        u, v = 0, 0
    print(u, v)
    total = 0
    for i in range(n):
        for j in range(n):
            if j == 2:
                break
            if (i + j) % 2 == 0:
                continue
            total += 10 * i + j
            k = total
            while k > 5:
                k = k // 2
            print(i, j, total, k)
    s = "a"
    w = s
    for i in range(n):
        s, w = w + "b", s
        print(s, w)
    z = 0
    for i in range(5, n, -1):           # what stays open where no trip sets it
        z = i
        o = i * 2
        print(z, o)
    return total
# ---
# 0 3 1 2
# 1 2 3 1
# 2 1 2 3
#  1
#  1
# [ CPUFloatType{2} ]  1
#  1
# [ CPUFloatType{2} ]
#  2
#  2
# [ CPUFloatType{2} ]  2
#  2
# [ CPUFloatType{2} ]
#  4
#  4
# [ CPUFloatType{2} ]  4
#  4
# [ CPUFloatType{2} ]
#  2
#  2
# [ CPUFloatType{2} ]  4
#  4
# [ CPUFloatType{2} ]
#  1
#  1
# [ CPUFloatType{2} ]  1
#  1
# [ CPUFloatType{2} ]
#  0.5000
#  0.5000
# [ CPUFloatType{2} ]  1
#  1
# [ CPUFloatType{2} ]
# [3, 0] [1, 2]
# [1, 2, 1] [3, 0]
# [3, 0, 2] [1, 2, 1]
# [3, 0, 2, 7] [1, 2, 1] [3, 0, 2, 7]
# 2 1
# 0 1 1 1
# 1 0 11 5
# 2 1 32 4
# ab a
# ab ab
# abb ab
# 5 10
# 4 8
# 32
