def forward():
    l = torch.jit.annotate(List[int], [])
    print(l)
    del l[0]
# ---
# []
# error: Traceback of TorchScript (most recent call last):
#   File "run/delete_empty.py", line 4, in forward
#     del l[0]
#         ~~~~ <--- HERE
#
# RuntimeError: pop index out of range
