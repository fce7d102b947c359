def helper(x: Tensor, k: Optional[int]=None, *, names: List[str]=["a"]) -> Tuple[Tensor, Dict[str, int]]:
    d: Dict[str, int] = {}
    for i, n in enumerate(names):
        d[n] = i if k is None else k
    while len(d) < 2:
        d[str(len(d))] = -1
        if len(d) == 2:
            break
    return torch.relu(x) * 2.5e-1, d

def forward(x: Tensor, n: int=3):
    y, d = helper(x, names=["p", "{}q".format(n)])
    l = [torch.add(y, i) for i in range(n) ]
    l[0] = l[-1]
    z = torch.cat(l, dim=-3)[..., None, ::2]
    f = fork(helper, z)
    try_me = isinstance(d, Dict[str, int]) and not (n in [1, 2] or "p" in d)
    assert n != 7, "seven"
    if try_me:
        z += torch.zeros(2, 3, dtype=torch.float*64).sum()
    elif n > 2**3 % 5:
        raise ValueError("no %d" % n)
    a, (b, *c) = 2, (2, ["p", "{}q".format(n)])
    l = [torch.add(y, i) for i in range(n) ]
    l[0] = l[-1]
    z = torch.cat(l, dim=-3)[..., None, ::2]
    f = fork(helper, z)
    try_me = isinstance(d, Dict[str, int]) and not (n in [1, 2] or "p" in d)
    assert n != 7, "seven"
    if try_me:
        z += torch.zeros(2, 3, dtype=torch.float64).sum()
    elif n > 2**3 % 5:
        raise ValueError("no %d" % n)
    a, (b, *c) = 2, (2, 3, 4)
    print(a, b, c, {"kÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ": [1.5, 2j]}, "\032\n")
    return z, d.get("p", 0), torch.wait(f)[0].shape
