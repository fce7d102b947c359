class Pair(NamedTuple):
    a: int
    b: float = 2.5

class Color(Enum):
    RED = 1
    GREEN = 2

class Acc:
    def __init__(self, n: int):
        self.n = n
        self.items : List[int] = []
    def add(self, x: int) -> int:
        self.n += x
        self.items.append(x)
        return self.n
    def __len__(self) -> int:
        return len(self.items)
    def __add__(self, other: int) -> int:
        return self.n + other
    def __getitem__(self, i: int) -> int:
        return self.items[i]
    def __contains__(self, i: int) -> bool:
        return i in self.items

class Ctx:
    def __init__(self, name: str):
        self.name = name
        self.depth = 0
    def __enter__(self):
        self.depth += 1
        return self.depth
    def __exit__(self, t: Any, v: Any, tb: Any):
        self.depth -= 1

def helper(p: Pair) -> float:
    return p.a * p.b

def forward(x: int):
    p = Pair(x)
    q = Pair(b=1.5, a=2)
    acc = Acc(10)
    r = acc.add(x)
    acc.n = 5
    c = Ctx("q")
    with c as d:
        r += d
        if r > 100:
            return 0, 0.0, "a", 1
    col = Color.GREEN
    nm = col.name
    v = col.value
    if col == Color.RED:
        r += 1
    def work():
        return x * 2
    fut = fork(work)
    fut2 = fork(helper, p)
    y = torch.jit.wait(fut) if False else torch.wait(fut)
    z = torch.wait(fut2)
    a, b = q
    return r + len(acc) + (acc + 3) + acc[0] + v + a + y, helper(p) + helper(q) + b + z, nm, int(7 in acc)
