# Circular padding without a batch, as PyTorch has it since 2.0: the input has one dimension more than `pad` has pairs.
def forward():
    x = torch.arange(6.).view(2, 3)
    print(torch.pad(x, [1, 1], "circular"))
    print(torch.pad(x.view(1, 2, 3), [1, 0, 0, 1], "circular"))
    print(torch.pad(x.view(1, 1, 2, 3), [0, 0, 1, 0, 1, 0], "circular").shape)
    return 0
# ---
#  2  0  1  2  0
#  5  3  4  5  3
# [ CPUFloatType{2,5} ]
# (1,.,.) =
#   2  0  1  2
#   5  3  4  5
#   2  0  1  2
# [ CPUFloatType{1,3,4} ]
# [1, 2, 3, 3]
# 0
