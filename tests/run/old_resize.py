# Resize operators of archives from PyTorch 1.0 to 1.2 against those that F.interpolate calls now. PyTorch 1.13's graphs agree on
# every line.
def same(a: Tensor, b: Tensor):
    assert torch.equal(a, b), str(a) + " is not " + str(b)
def forward():
    x = torch.arange(40.).reshape(1, 2, 4, 5).sin()
    same(torch.__interpolate(x, [7, 9]), torch.nn.functional.interpolate(x, [7, 9]))
    same(torch.__interpolate(x, 7, None, "bilinear", None), torch.nn.functional.interpolate(x, [7, 7], mode="bilinear"))
    same(torch.__interpolate(x, None, 1.7, "nearest", None), torch.nn.functional.interpolate(x, [6, 8]))
    same(torch.__interpolate(x, None, 1.7, "bicubic", True), torch.nn.functional.interpolate(x, [6, 8], mode="bicubic", align_corners=True))
    same(torch.__interpolate(x, None, [1.7, 2.3], "bilinear", False, False),
         torch.nn.functional.interpolate(x, scale_factor=[1.7, 2.3], mode="bilinear"))
    same(torch.__interpolate(x, None, [1.5, 1.5], "area"), torch.nn.functional.interpolate(x, [6, 7], mode="area"))
    same(torch.__interpolate(x, 6, [1.5, 1.5]), torch.nn.functional.interpolate(x, [6, 6]))
    same(torch.__upsample(x, None, 2, "bilinear", True), torch.nn.functional.interpolate(x, [8, 10], mode="bilinear", align_corners=True))
    same(torch.__upsample(x, [3, 2]), torch.nn.functional.interpolate(x, [3, 2]))
    same(torch.__upsample_nearest(x, None, 3), torch.nn.functional.interpolate(x, [12, 15]))
    same(torch.__upsample_nearest(x, [3, 8]), torch.nn.functional.interpolate(x, [3, 8]))
    same(torch.__upsample_bilinear(x, None, [2, 3]), torch.nn.functional.interpolate(x, [8, 15], mode="bilinear", align_corners=True))
    same(torch.__upsample_bilinear(x, 3), torch.nn.functional.interpolate(x, [3, 3], mode="bilinear", align_corners=True))
    return torch.__interpolate(x[0], 3, None, "linear", False).shape
# ---
# [2, 4, 3]
