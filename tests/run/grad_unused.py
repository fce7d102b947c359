def forward():
    w = torch.ones([2]).requires_grad_()
    v = torch.ones([2]).requires_grad_()
    print(torch.autograd.grad([(v * 2).sum()], [w]))
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "run/grad_unused.py", line 4, in forward
#     print(torch.autograd.grad([(v * 2).sum()], [w]))
#           ~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.
