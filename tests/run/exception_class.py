import torch

class Wrong(ValueError):
    def __init__(self, text):
        super().__init__(text)

class Worse(Wrong):
    pass

def forward():
    torch._assert(True, "not raised")
    torch._assert(torch.tensor(True), "not raised")
    raise Worse("custom")
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "run/exception_class.py", line 13, in forward
#     raise Worse("custom")
#     ~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# exception_class.Worse: custom
