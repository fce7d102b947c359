def forward():
    x = torch.ones([3], dtype=torch.int64)
    return torch.dropout(x, 0.5, True)
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "run/dropout_ints.py", line 3, in forward
#     return torch.dropout(x, 0.5, True)
#            ~~~~~~~~~~~~~ <--- HERE
#   File "<dropout>", line 5, in aten::dropout
# return torch.mul(input, torch.div_(ops.prim.keep_noise(input, p, False), 1. - p))
#                         ~~~~~~~~~~ <--- HERE
#
# RuntimeError: result type Float can't be cast to the desired output type Long
