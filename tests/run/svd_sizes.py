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
#   File "<linalg_svd>", line 1, in aten::linalg_svd
# return torch._linalg_svd(A, full_matrices, True)
#        ~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: Storage size calculation overflowed
