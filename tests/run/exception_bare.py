def forward():
    raise NotImplementedError
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "run/exception_bare.py", line 2, in forward
#     raise NotImplementedError
#     ~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError:
