def forward():
    print(torch.ops.torchvision.ps_roi_pool(torch.ones([1, 4, 3, 3]), torch.tensor([[0., 0., 0., 2., 2.]]), 1.0, 2, 2)[0].flatten())
    torch.ops.torchvision.ps_roi_pool(torch.zeros([1, 4, 3, 3]), torch.zeros([1, 5]), 1.0, 4294967296, 4294967296)
# ---
#  1
#  1
#  1
#  1
# [ CPUFloatType{4} ]
# None
