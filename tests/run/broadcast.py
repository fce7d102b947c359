def forward():
    a = torch.ones(3, 1)
    e = torch.ones(0)
    print((a + torch.ones(1, 0)).shape, (e + torch.ones(1)).shape, (a * torch.ones(2, 1, 4)).shape, (e + torch.ones(2, 1)).shape)
    print((e + torch.ones(3)).shape)
    return a
# ---
# [3, 0] [0] [2, 3, 4] [2, 0]
# error: Traceback of TorchScript (most recent call last):
#   File "run/broadcast.py", line 5, in forward
#     print((e + torch.ones(3)).shape)
#            ~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: The size of tensor a (0) must match the size of tensor b (3) at non-singleton dimension 0
