def forward():
    x = torch.arange(60.).reshape([1, 2, 5, 6])
    r = torch.tensor([[0., .5, 1., 5.5, 3.]])
    print(torch.ops.torchvision.roi_align(x, r, 1.0, 1, 3, 2, True))
    print(torch.ops.torchvision.roi_align(x * x, r, .75, 2, 1, 0, False).flatten())
    print(torch.ops.torchvision.ps_roi_pool(torch.ones([1, 4, 3, 3]), torch.tensor([[0., 0., 0., 2., 2.]]), 1.0, 2, 2)[0].flatten())
    print(torch.ops.torchvision.roi_align(torch.zeros([1, 4, 3, 3]), torch.zeros([0, 5]), 1.0, 4294967296, 4294967296, 1, False).size())
    print(torch.ops.torchvision.ps_roi_pool(torch.zeros([1, 4, 3, 3]), torch.zeros([1, 5]), 1.0, 4294967296, 4294967296)[0])
# ---
# (1,1,.,.) =
#    9.8333  11.5000  13.1667
#
# (1,2,.,.) =
#   39.8333  41.5000  43.1667
# [ CPUFloatType{1,2,1,3} ]
#    86.2188
#   187.4688
#  1526.2188
#  1897.4688
# [ CPUFloatType{4} ]
#  1
#  1
#  1
#  1
# [ CPUFloatType{4} ]
# [0, 4, 4294967296, 4294967296]
# error: Traceback of TorchScript (most recent call last):
#   File "run/regions.py", line 8, in forward
#     print(torch.ops.torchvision.ps_roi_pool(torch.zeros([1, 4, 3, 3]), torch.zeros([1, 5]), 1.0, 4294967296, 4294967296)[0])
#           ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: input channels must be a multiple of pooling height * pooling width
