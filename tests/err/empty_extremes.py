# kiln: run
def forward():
    return torch.zeros(3, 0).aminmax(dim=-1)
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "err/empty_extremes.py", line 3, in forward
#     return torch.zeros(3, 0).aminmax(dim=-1)
#            ~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: aminmax: Expected reduction dim 1 to have non-zero size.
