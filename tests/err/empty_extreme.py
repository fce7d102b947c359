# kiln: run
def forward():
    return torch.zeros(3, 0).max(-1)
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "err/empty_extreme.py", line 3, in forward
#     return torch.zeros(3, 0).max(-1)
#            ~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: max(): Expected reduction dim 1 to have non-zero size.
