def forward():
    raise IndexError("a", 2)
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "run/exception_parts.py", line 2, in forward
#     raise IndexError("a", 2)
#     ~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# builtins.IndexError: (a, 2)
