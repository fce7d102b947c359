# The result of indexing by tensors has the strides of an elementwise result: the order of self's dims is kept.
def forward():
    x = torch.arange(60).view([3, 4, 5])
    t = x.permute([2, 1, 0])
    i, j = torch.tensor([0, 2]), torch.tensor([[0, 1], [2, 0]])
    print(t[i].stride(), t[:, i].stride(), t[:, :, i].stride(), t[i, :, i].stride(), t[j].stride(), t[:, j].stride())
    print(t[j, j].stride(), t[:, j, j].stride(), t[j.t()].stride(), x[j.t()].stride(), x[:, j.t(), j.t()].stride())
    print(t[t > 30].stride(), t[:, torch.tensor([1, 0, 1, 1]).bool()].stride(), x[j, :, j.t()].stride(), x[i, :, i].stride())
    print(x.transpose(1, 2)[i].stride(), x.transpose(0, 1)[:, i, 1].stride(), x.transpose(1, 2)[None, i].stride())
    e = torch.arange(4).expand([3, 4])
    print(e[i].stride(), e[:, i].stride(), e.t()[i].stride(), t[0:0][:, i].stride(), t[i[0:0]].stride())
    y = torch.zeros([1, 3, 4, 5]).to(memory_format=torch.channels_last)
    print(y[:, i].stride(), y[:, :, i, i].stride(), y[:, :, i].stride(), y[:, :, :, i].stride(), y[[0]].stride())
    print(t[i].view([-1, 3]))
# ---
# [12, 1, 4] [1, 5, 10] [2, 10, 1] [4, 1] [24, 12, 1, 4] [1, 10, 5, 20]
# [6, 3, 1] [4, 2, 1] [12, 24, 1, 4] [20, 40, 5, 1] [4, 1, 2]
# [1] [1, 5, 15] [8, 4, 1] [4, 1]
# [20, 1, 5] [2, 1] [40, 20, 1, 5]
# [4, 1] [2, 1] [3, 1] [1, 0, 0] [12, 1, 4]
# [40, 20, 5, 1] [6, 2, 1] [30, 1, 3, 6] [24, 2, 6, 1] [60, 1, 15, 3]
# error: Traceback of TorchScript (most recent call last):
#   File "run/index_strides.py", line 14, in forward
#     print(t[i].view([-1, 3]))
#           ~~~~~~~~~ <--- HERE
#
# RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.
