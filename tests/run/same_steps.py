def forward():
    # equal values: the index that the C++ library's sort leaves last
    print(torch.mode((torch.arange(40) * 7) % 4))
    # signs of singular vectors
    u, s, v = torch.linalg.svd((torch.arange(12.) ** 2).reshape(4, 3).sin())
    print(u[0], v[0])
    u, s, v = torch.linalg.svd(torch.arange(10.).reshape(2, 5).cos())
    print(u[0], v[0])
    # bfloat16: bins and gradients are rounded at each step, interpolation once
    x = torch.arange(16.).sin().to(torch.bfloat16)
    print(torch.histc(x * 9, 10, -9, 9).to(torch.float))
    print(torch.nn.functional.interpolate(x.reshape(1, 1, 4, 4), [3, 3], None, 'bicubic', False).to(torch.float))
    print(torch.gradient(x[:6], spacing=[x[6:12]], dim=[0], edge_order=2)[0].to(torch.float))
    # edges that do not ascend are bisected as if they did
    print(torch.histogram(torch.arange(-8., 8.), torch.tensor([-5., 3.5, -3.5, 6.5]))[0])
    # an integer without dimensions has all digits, as in PyTorch 2.15
    print(torch.tensor(2100000), torch.tensor(-9007199254740993), torch.tensor([2100000, 3]))
# ---
# (0
# [ CPULongType{} ], 16
# [ CPULongType{} ])
# -0.4329
#  0.7038
# -0.2450
#  0.5072
# [ CPUFloatType{4} ] -0.4696
# -0.5716
#  0.6729
# [ CPUFloatType{3} ]
# -0.7682
# -0.6402
# [ CPUFloatType{2} ] -0.4812
# -0.5217
# -0.0826
#  0.4325
#  0.5499
# [ CPUFloatType{5} ]
#  2
#  1
#  2
#  1
#  0
#  2
#  0
#  2
#  2
#  4
# [ CPUFloatType{10} ]
# (1,1,.,.) =
#  -0.0422  0.7617  0.3184
#   0.1006 -0.6484 -0.3379
#  -0.1875  0.7109  0.4434
# [ CPUFloatType{1,1,3,3} ]
#  1.3750
#  0.3906
# -1.3594
#  1.1875
#  0.5977
#  0.2656
# [ CPUFloatType{6} ]
#   2
#   0
#  10
# [ CPUFloatType{3} ]
# 2100000
# [ CPULongType{} ] -9007199254740993
# [ CPULongType{} ]  2.1e+06
#        3
# [ CPULongType{2} ]
# None
