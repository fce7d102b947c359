class Scope:
    def __init__(self, name: str):
        self.name = name
        self.log: List[str] = []
    def __enter__(self):
        print("enter", self.name)
        return self.name
    def __exit__(self, type: Any, value: Any, trace: Any):
        self.log.append(self.name)
        print("exit", self.name, len(self.log))
def inner(n: int) -> int:
    a = Scope("a")
    b = Scope("b")
    with a as x:
        with b as y:
            print(x, y)
            if n > 2:
                raise ValueError("deep")
            print("not reached by", n)
        print("after", b.log)
    return len(a.log) + n
def forward():
    n = int(torch.ones(1).item())
    outer = Scope("outer")
    with outer as o:
        print(inner(n))
        with Scope("c"):
            k = inner(n + 1)
        print(o, k, outer.log)
        for i in range(4):
            with Scope("loop"):
                print(inner(i))
    return 0
# ---
# enter outer
# enter a
# enter b
# a b
# not reached by 1
# exit b 1
# after [b]
# exit a 1
# 2
# enter c
# enter a
# enter b
# a b
# not reached by 2
# exit b 1
# after [b]
# exit a 1
# exit c 1
# outer 3 []
# enter loop
# enter a
# enter b
# a b
# not reached by 0
# exit b 1
# after [b]
# exit a 1
# 1
# exit loop 1
# enter loop
# enter a
# enter b
# a b
# not reached by 1
# exit b 1
# after [b]
# exit a 1
# 2
# exit loop 1
# enter loop
# enter a
# enter b
# a b
# not reached by 2
# exit b 1
# after [b]
# exit a 1
# 3
# exit loop 1
# enter loop
# enter a
# enter b
# a b
# exit b 1
# exit a 1
# exit loop 1
# exit outer 1
# error: Traceback of TorchScript (most recent call last):
#   File "run/scopes.py", line 32, in forward
#                 print(inner(i))
#                       ~~~~~ <--- HERE
#   File "run/scopes.py", line 18, in inner
#                 raise ValueError("deep")
#                 ~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# builtins.ValueError: deep
