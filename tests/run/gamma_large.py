# Incomplete gamma functions of large, nearly equal numbers and of the smallest; tanh and J1 keep the sign of zero.
def forward():
    a = torch.tensor([1e3, 1e5, 1e7, 1e7, 1e9, 1e15, 2e6, 3e5], dtype=torch.float64)
    x = torch.tensor([1.01e3, 1e5, 1e7, 1.0003e7, 1e9 + 1e4, 1e15, 1.9985e6, 2.97e5], dtype=torch.float64)
    print(torch.igamma(a, x))
    print(torch.igammac(a, x))
    print(torch.log(torch.igamma(a, x)), torch.log(torch.igammac(a, x * 1.001)))
    z = -torch.zeros(33)
    print(1 / torch.tanh(z)[0], 1 / torch.tanh(z)[32], 1 / torch.ops.aten.special_bessel_j1(z)[0])
    print(torch.isinf(torch.complex(1 / z, z / z))[0], torch.isinf(torch.complex(z / z, z))[0])
# ---
#  6.2768e-01
#  5.0042e-01
#  5.0004e-01
#  8.2861e-01
#  6.2390e-01
#  5.0000e-01
#  1.4442e-01
#  1.9538e-08
# [ CPUDoubleType{8} ]
#  0.3723
#  0.4996
#  0.5000
#  0.1714
#  0.3761
#  0.5000
#  0.8556
#  1.0000
# [ CPUDoubleType{8} ]
# -0.4657
# -0.6923
# -0.6931
# -0.1880
# -0.4718
# -0.6931
# -1.9351
# -17.7509
# [ CPUDoubleType{8} ] -1.0206e+00
# -9.7935e-01
# -7.1495e+00
# -1.0832e+01
# -5.1408e+02
#        -inf
# -1.0157e+00
# -3.7246e-07
# [ CPUDoubleType{8} ]
# -inf
# [ CPUFloatType{} ] -inf
# [ CPUFloatType{} ] -inf
# [ CPUFloatType{} ]
# 1
# [ CPUBoolType{} ] 0
# [ CPUBoolType{} ]
# None
