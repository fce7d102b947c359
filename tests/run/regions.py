def forward():
    print(torch.ops.torchvision.ps_roi_pool(torch.ones([1, 4, 3, 3]), torch.tensor([[0., 0., 0., 2., 2.]]), 1.0, 2, 2)[0].flatten())
    print(torch.ops.torchvision.roi_align(torch.zeros([1, 4, 3, 3]), torch.zeros([0, 5]), 1.0, 4294967296, 4294967296, 1, False).size())
    print(torch.ops.torchvision.ps_roi_pool(torch.zeros([1, 4, 3, 3]), torch.zeros([1, 5]), 1.0, 4294967296, 4294967296)[0])
# ---
#  1
#  1
#  1
#  1
# [ CPUFloatType{4} ]
# [0, 4, 4294967296, 4294967296]
# error: Traceback of TorchScript (most recent call last):
#   File "run/regions.py", line 4, in forward
#     print(torch.ops.torchvision.ps_roi_pool(torch.zeros([1, 4, 3, 3]), torch.zeros([1, 5]), 1.0, 4294967296, 4294967296)[0])
#           ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: input channels must be a multiple of pooling height * pooling width
