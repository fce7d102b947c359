def forward():
    x = torch.ones([3], dtype=torch.int64)
    return torch.dropout(x, 0.5, True)
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "run/dropout_ints.py", line 3, in forward
#     return torch.dropout(x, 0.5, True)
#            ~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: result type Float can't be cast to the desired output type Long
