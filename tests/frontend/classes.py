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
# ---
# graph(%x : int):
#   %0 : float = prim::Constant[value=2.5]()
#   %p : __torch__.Pair(a : int, b : float) = prim::TupleConstruct(%x, %0)
#   %1 : float = prim::Constant[value=1.5]()
#   %2 : int = prim::Constant[value=2]()
#   %q : __torch__.Pair(a : int, b : float) = prim::TupleConstruct(%2, %1)
#   %3 : int = prim::Constant[value=10]()
#   %acc : __torch__.Acc = prim::CreateObject()
#   %4 : NoneType = prim::CallMethod[name="__init__", function="__torch__.Acc.__init__"](%acc, %3)
#   %r : int = prim::CallMethod[name="add", function="__torch__.Acc.add"](%acc, %x)
#   %5 : int = prim::Constant[value=5]()
#   prim::SetAttr[name="n"](%acc, %5)
#   %6 : str = prim::Constant[value="q"]()
#   %c : __torch__.Ctx = prim::CreateObject()
#   %7 : NoneType = prim::CallMethod[name="__init__", function="__torch__.Ctx.__init__"](%c, %6)
#   %d : int = prim::Enter(%c)
#   %r.1 : int = aten::add(%r, %d)
#   %8 : int = prim::Constant[value=100]()
#   %9 : bool = aten::gt(%r.1, %8)
#   %10 : bool, %11 : (int, float, str, int) = prim::If(%9)
#     block0():
#       %12 : int = prim::Constant[value=0]()
#       %13 : float = prim::Constant[value=0.]()
#       %14 : str = prim::Constant[value="a"]()
#       %15 : int = prim::Constant[value=1]()
#       %16 : (int, float, str, int) = prim::TupleConstruct(%12, %13, %14, %15)
#       %17 : bool = prim::Constant[value=1]()
#       -> (%17, %16)
#     block1():
#       %18 : bool = prim::Constant[value=0]()
#       %19 : (int, float, str, int) = prim::Uninitialized()
#       -> (%18, %19)
#   %20 : NoneType = prim::Exit(%c)
#   %21 : (int, float, str, int) = prim::If(%10)
#     block0():
#       -> (%11)
#     block1():
#       %col : Enum<__torch__.Color> = prim::Constant[value=__torch__.Color.GREEN]()
#       %nm : str = prim::EnumName(%col)
#       %v : int = prim::EnumValue(%col)
#       %22 : Enum<__torch__.Color> = prim::Constant[value=__torch__.Color.RED]()
#       %23 : bool = aten::eq(%col, %22)
#       %r.2 : int = prim::If(%23)
#         block0():
#           %24 : int = prim::Constant[value=1]()
#           %r.3 : int = aten::add(%r.1, %24)
#           -> (%r.3)
#         block1():
#           -> (%r.1)
#       %fut : Future(int) = prim::fork_0(%x)
#       %fut2 : Future(float) = prim::fork_1(%p)
#       %y : int = aten::wait(%fut)
#       %z : float = aten::wait(%fut2)
#       %a : int, %b : float = prim::TupleUnpack(%q)
#       %25 : int = prim::CallMethod[name="__len__", function="__torch__.Acc.__len__"](%acc)
#       %26 : int = aten::add(%r.2, %25)
#       %27 : int = prim::Constant[value=3]()
#       %28 : int = prim::CallMethod[name="__add__", function="__torch__.Acc.__add__"](%acc, %27)
#       %29 : int = aten::add(%26, %28)
#       %30 : int = prim::Constant[value=0]()
#       %31 : int = prim::CallMethod[name="__getitem__", function="__torch__.Acc.__getitem__"](%acc, %30)
#       %32 : int = aten::add(%29, %31)
#       %33 : int = aten::add(%32, %v)
#       %34 : int = aten::add(%33, %a)
#       %35 : int = aten::add(%34, %y)
#       %36 : float = prim::CallFunction[name="helper", function="helper"](%p)
#       %37 : float = prim::CallFunction[name="helper", function="helper"](%q)
#       %38 : float = aten::add(%36, %37)
#       %39 : float = aten::add(%38, %b)
#       %40 : float = aten::add(%39, %z)
#       %41 : int = prim::Constant[value=7]()
#       %42 : bool = prim::CallMethod[name="__contains__", function="__torch__.Acc.__contains__"](%acc, %41)
#       %43 : int = aten::Int(%42)
#       %44 : (int, float, str, int) = prim::TupleConstruct(%35, %40, %nm, %43)
#       -> (%44)
#   return (%21)
# with prim::fork_0 = graph(%x : int):
#   %0 : int = prim::Constant[value=2]()
#   %1 : int = aten::mul(%x, %0)
#   return (%1)
# with prim::fork_1 = graph(%0 : __torch__.Pair(a : int, b : float)):
#   %1 : float = prim::CallFunction[name="helper", function="helper"](%0)
#   return (%1)
