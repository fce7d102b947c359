def forward():
    print(torch.linalg_svd(torch.zeros([2, 0, 3]))[2].sum())
    print(torch.linalg_svd(torch.zeros([1, 0, 4294967296]))[2].size())
# ---
# 6
# [ CPUFloatType{} ]
# error: Traceback of TorchScript (most recent call last):
#   File "run/svd_sizes.py", line 3, in forward
#     print(torch.linalg_svd(torch.zeros([1, 0, 4294967296]))[2].size())
#           ~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: Storage size calculation overflowed
