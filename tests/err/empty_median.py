# kiln: run
def forward():
    return torch.zeros(3, 0, dtype=torch.bool).median(-1)
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "err/empty_median.py", line 3, in forward
#     return torch.zeros(3, 0, dtype=torch.bool).median(-1)
#            ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: median(): Expected reduction dim 1 to have non-zero size.
