def forward(x: Tensor):
    f = torch.jit.fork(work, x)
    return torch.jit.wait(f)
# ---
# err/fork_unknown.py:2:24: error: undefined value work; did you mean fork?
#     f = torch.jit.fork(work, x)
#                        ^~~~
