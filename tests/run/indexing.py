def forward():
    x = torch.arange(24).reshape(2, 3, 4)
    i = torch.tensor([0, 1, 1])
    j = torch.tensor([2, 0, 1])
    print(x[i].shape, x[:, i].shape, x[i, :, j].shape, x[:, i, j].shape, x[i, j].shape, x[i, i, i])
    print(x[i, :, j])
    print(x[:, j, i])
    m = torch.tensor([True, False, True])
    print(x[:, m].shape, x[0, m, 0], x[i, m].shape if n_ones(m) == 3 else x[0, m].shape)
    y = x.clone()
    y[i, :, j] = 7
    print(y)
    z = torch.arange(24).reshape(3, 2, 1, 4)
    z[:, i[:2], :, j[:2]] = torch.tensor([[[-1], [-2], [-3]], [[-4], [-5], [-6]]])
    print(z[:, i[:2], :, j[1:]], z[:, :, 0])
    k = torch.tensor([True, False])
    print(x[0, k])
    return x
def n_ones(m: Tensor) -> int:
    return int(m.sum())
# ---
# [3, 3, 4] [2, 3, 4] [3, 3] [2, 3] [3, 4]   0
#  17
#  17
# [ CPULongType{3} ]
#   2   6  10
#  12  16  20
#  13  17  21
# [ CPULongType{3,3} ]
#   8   1   5
#  20  13  17
# [ CPULongType{2,3} ]
# [2, 2, 4]  0
#  8
# [ CPULongType{2} ] [2, 4]
# (1,.,.) =
#    0   1   7   3
#    4   5   7   7
#    8   9   7  11
#
# (2,.,.) =
#    7   7  14  15
#    7   7  18  19
#    7   7  22  23
# [ CPULongType{2,3,4} ]
# (1,.,.) =
#    0
#    8
#   16
#
# (2,.,.) =
#    5
#   13
#   21
# [ CPULongType{2,3,1} ] (1,.,.) =
#   0  1 -1  3
#  -4  5  6  7
#
# (2,.,.) =
#    8   9  -2  11
#   -5  13  14  15
#
# (3,.,.) =
#   16  17  -3  19
#   -6  21  22  23
# [ CPULongType{3,2,4} ]
# error: Traceback of TorchScript (most recent call last):
#   File "run/indexing.py", line 17, in forward
#     print(x[0, k])
#           ~~~~~~~ <--- HERE
#
# RuntimeError: The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3, 4] at index 0
