def add(x: Tensor, y: int):
    return x + y
def write(x: Tensor, y: int):
    print("writes", y)
    x.add_(y)
    return x * 2
def fail(x: Tensor):
    raise ValueError("asked for")
    return x
def last(of: List[Await[Tensor]]):
    return torch.jit._awaitable_wait(of[-1])
def forward():
    x = torch.tensor([1.0, 2.0])
    a = torch.jit._awaitable(add, x, 2)
    b = torch.jit._awaitable(add, x, 3)
    print(torch.jit._awaitable_wait(a) + torch.jit._awaitable_wait(b))
    # Calls run at the first wait, in the order of the waits. Calls that nobody waits for never run.
    c = torch.jit._awaitable(write, x, 1)
    d = torch.jit._awaitable(write, x, 10)
    e = torch.jit._awaitable(fail, x)
    y = x * 1
    print("nothing so far")
    z = torch.jit._awaitable_wait(d) + y
    x.mul_(2)
    print(z, torch.jit._awaitable_wait(c), torch.jit._awaitable_wait(d), torch.jit._awaitable_wait(c))
    print(torch.jit._awaitable_wait(torch.jit._awaitable_nowait(x + 1)))
    # Of a list of awaitables, a forked call waits for one, and two are never called.
    many: List[Await[Tensor]] = []
    for i in range(4):
        many.append(torch.jit._awaitable(write, x.clone(), i))
    f = torch.jit.fork(last, many)
    return torch.jit.wait(f) + torch.jit._awaitable_wait(many[1])
# ---
#  7
#  9
# [ CPUFloatType{2} ]
# nothing so far
# writes 10
# writes 1
#  23
#  26
# [ CPUFloatType{2} ]  46
#  50
# [ CPUFloatType{2} ]  22
#  24
# [ CPUFloatType{2} ]  46
#  50
# [ CPUFloatType{2} ]
#  24
#  26
# [ CPUFloatType{2} ]
# writes 3
# writes 1
#  100
#  108
# [ CPUFloatType{2} ]
