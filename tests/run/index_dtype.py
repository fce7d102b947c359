def forward():
    x = torch.arange(6).reshape(2, 3)
    print(x[torch.tensor([1, 0])], x[torch.tensor([True, False])])
    print(x[torch.tensor([1, 0]).to(torch.int32)])
    return x
# ---
#  3  4  5
#  0  1  2
# [ CPULongType{2,3} ]  0  1  2
# [ CPULongType{1,3} ]
# error: Traceback of TorchScript (most recent call last):
#   File "run/index_dtype.py", line 4, in forward
#     print(x[torch.tensor([1, 0]).to(torch.int32)])
#           ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: tensors used as indices must be long, byte or bool tensors
