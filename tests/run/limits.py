# Formulas whose terms leave the range of their type, and numbers that a dtype cannot hold.
def said(x: Tensor):
    return torch.nan_to_num(x, 7., 8., -8.)
def forward():
    u = torch.tensor([0, 1, 2, 3, 200, 255], dtype=torch.uint8)
    print(torch.threshold(u, 2, 7), torch.threshold(u, -1, 7), torch.threshold(u, 1.5, 3.7), torch.threshold(u, 200, -1))
    n, inf = float("nan"), float("inf")
    for d in [torch.float32, torch.float64]:
        a = torch.tensor([n, n, n, n, n, n, 1., 1., 0.5, 0.5, inf, inf, inf, 2., 3.], dtype=d)
        q = torch.tensor([0., -1., -inf, -1.5, 1., n, 0., n, 0., n, 0., -1.5, 2., -1., -1.5], dtype=d)
        print(said(torch.special.zeta(a, q)))
        x = torch.tensor([inf, inf, -inf, -inf, inf, 1., -1., n, 2., -2.], dtype=d)
        y = torch.tensor([inf, -inf, inf, -inf, 1., inf, -inf, 1., 1., 1.], dtype=d)
        for z in [torch._add_relu(x, y), torch._add_relu(x, y, alpha=2)]:
            print(torch.isinf(z).any(), z > 1e38, said(z)[[3, 6, 8, 9]])
        for w in [-2., -0.75, -0.5, -0.25, 0., 0.25, 0.5, 0.75, 1., 2.]:
            print(w, said(torch.lerp(x, y, w)), said(torch.lerp(x, y, torch.full([10], w, dtype=d))))
        print(torch.lerp(torch.zeros(2, dtype=d), torch.tensor([3e38, -3e38], dtype=d), -0.75))
    k = torch.tensor([2.2250738585072014e-308, 1e-308, 5.6e-309, 1e-300, 1e-99, 1e-101, 0., -1., n, inf, 2.], dtype=torch.float64)
    print(said(torch.special.modified_bessel_k1(k)), said(torch.special.scaled_modified_bessel_k1(k)))
    print(torch.threshold(u, 300, 7))
    return 0
# ---
#    7
#    7
#    7
#    3
#  200
#  255
# [ CPUByteType{6} ]  7
#  7
#  7
#  7
#  7
#  7
# [ CPUByteType{6} ]    3
#    3
#    2
#    3
#  200
#  255
# [ CPUByteType{6} ]  255
#  255
#  255
#  255
#  255
#  255
# [ CPUByteType{6} ]
#  8.0000
#  8.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  8.0000
#  7.0000
#  7.0000
#  8.0000
#  8.0000
#  7.0000
#  8.0000
#  0.1181
# [ CPUFloatType{15} ]
# 0
# [ CPUBoolType{} ]  1
#  0
#  0
#  0
#  1
#  1
#  0
#  0
#  0
#  0
# [ CPUBoolType{10} ]  0
#  0
#  3
#  0
# [ CPUFloatType{4} ]
# 0
# [ CPUBoolType{} ]  1
#  0
#  0
#  0
#  1
#  1
#  0
#  0
#  0
#  0
# [ CPUBoolType{10} ]  0
#  0
#  4
#  0
# [ CPUFloatType{4} ]
# -2.  7
#  8
# -8
#  7
#  8
# -8
#  8
#  7
#  4
# -8
# [ CPUFloatType{10} ]  7
#  8
# -8
#  7
#  8
# -8
#  8
#  7
#  4
# -8
# [ CPUFloatType{10} ]
# -0.75  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.7500
# -4.2500
# [ CPUFloatType{10} ]  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.7500
# -4.2500
# [ CPUFloatType{10} ]
# -0.5  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.5000
# -3.5000
# [ CPUFloatType{10} ]  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.5000
# -3.5000
# [ CPUFloatType{10} ]
# -0.25  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.2500
# -2.7500
# [ CPUFloatType{10} ]  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.2500
# -2.7500
# [ CPUFloatType{10} ]
# 0.  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  2
# -2
# [ CPUFloatType{10} ]  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  2
# -2
# [ CPUFloatType{10} ]
# 0.25  7.0000
#  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
# -8.0000
#  7.0000
#  1.7500
# -1.2500
# [ CPUFloatType{10} ]  7.0000
#  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
# -8.0000
#  7.0000
#  1.7500
# -1.2500
# [ CPUFloatType{10} ]
# 0.5  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.5000
# -0.5000
# [ CPUFloatType{10} ]  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.5000
# -0.5000
# [ CPUFloatType{10} ]
# 0.75  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.2500
#  0.2500
# [ CPUFloatType{10} ]  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.2500
#  0.2500
# [ CPUFloatType{10} ]
# 1.  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  1
#  1
# [ CPUFloatType{10} ]  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  1
#  1
# [ CPUFloatType{10} ]
# 2.  7
# -8
#  8
#  7
# -8
#  8
# -8
#  7
#  0
#  4
# [ CPUFloatType{10} ]  7
# -8
#  8
#  7
# -8
#  8
# -8
#  7
#  0
#  4
# [ CPUFloatType{10} ]
# -2.2500e+38
#  2.2500e+38
# [ CPUFloatType{2} ]
#  8.0000
#  8.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  8.0000
#  7.0000
#  7.0000
#  8.0000
#  8.0000
#  7.0000
#  8.0000
#  0.1181
# [ CPUDoubleType{15} ]
# 0
# [ CPUBoolType{} ]  1
#  0
#  0
#  0
#  1
#  1
#  0
#  0
#  0
#  0
# [ CPUBoolType{10} ]  0
#  0
#  3
#  0
# [ CPUDoubleType{4} ]
# 0
# [ CPUBoolType{} ]  1
#  0
#  0
#  0
#  1
#  1
#  0
#  0
#  0
#  0
# [ CPUBoolType{10} ]  0
#  0
#  4
#  0
# [ CPUDoubleType{4} ]
# -2.  7
#  8
# -8
#  7
#  8
# -8
#  8
#  7
#  4
# -8
# [ CPUDoubleType{10} ]  7
#  8
# -8
#  7
#  8
# -8
#  8
#  7
#  4
# -8
# [ CPUDoubleType{10} ]
# -0.75  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.7500
# -4.2500
# [ CPUDoubleType{10} ]  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.7500
# -4.2500
# [ CPUDoubleType{10} ]
# -0.5  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.5000
# -3.5000
# [ CPUDoubleType{10} ]  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.5000
# -3.5000
# [ CPUDoubleType{10} ]
# -0.25  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.2500
# -2.7500
# [ CPUDoubleType{10} ]  7.0000
#  8.0000
# -8.0000
#  7.0000
#  8.0000
# -8.0000
#  8.0000
#  7.0000
#  2.2500
# -2.7500
# [ CPUDoubleType{10} ]
# 0.  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  2
# -2
# [ CPUDoubleType{10} ]  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  2
# -2
# [ CPUDoubleType{10} ]
# 0.25  7.0000
#  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
# -8.0000
#  7.0000
#  1.7500
# -1.2500
# [ CPUDoubleType{10} ]  7.0000
#  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
# -8.0000
#  7.0000
#  1.7500
# -1.2500
# [ CPUDoubleType{10} ]
# 0.5  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.5000
# -0.5000
# [ CPUDoubleType{10} ]  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.5000
# -0.5000
# [ CPUDoubleType{10} ]
# 0.75  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.2500
#  0.2500
# [ CPUDoubleType{10} ]  7.0000
#  7.0000
#  7.0000
#  7.0000
#  8.0000
#  7.0000
#  7.0000
#  7.0000
#  1.2500
#  0.2500
# [ CPUDoubleType{10} ]
# 1.  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  1
#  1
# [ CPUDoubleType{10} ]  7
#  7
#  7
#  7
#  7
#  7
#  7
#  7
#  1
#  1
# [ CPUDoubleType{10} ]
# 2.  7
# -8
#  8
#  7
# -8
#  8
# -8
#  7
#  0
#  4
# [ CPUDoubleType{10} ]  7
# -8
#  8
#  7
# -8
#  8
# -8
#  7
#  0
#  4
# [ CPUDoubleType{10} ]
# -2.2500e+38
#  2.2500e+38
# [ CPUDoubleType{2} ]
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  7.0000
#  7.0000
#  0.0000
#  0.1399
# [ CPUDoubleType{11} ]  8.0000
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  8.0000
#  7.0000
#  7.0000
#  0.0000
#  1.0335
# [ CPUDoubleType{11} ]
# error: Traceback of TorchScript (most recent call last):
#   File "run/limits.py", line 21, in forward
#     print(torch.threshold(u, 300, 7))
#           ~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: value cannot be converted to type uint8_t without overflow
