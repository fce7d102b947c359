# kiln: run
def forward():
    return torch.linalg.vector_norm(torch.zeros(3, 0), float('inf'), [0, -1])
# ---
# error: Traceback of TorchScript (most recent call last):
#   File "err/empty_norm.py", line 3, in forward
#     return torch.linalg.vector_norm(torch.zeros(3, 0), float('inf'), [0, -1])
#            ~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: linalg.vector_norm cannot compute the inf norm on the dimension -1because this dimension is empty and the operation does not have an identity
