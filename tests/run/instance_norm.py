# An instance norm of bfloat16 is computed in float and rounded once, with running statistics of float or without.
def forward() -> None:
    x = (torch.arange(56).view([2, 4, 7]) % 11).to(torch.bfloat16) / 4
    m, v = torch.zeros([4]), torch.ones([4])
    print(torch.instance_norm(x, None, None, m, v, True, 0.1, 1e-5, False)[0, 1])
    print(torch.instance_norm(x, None, None, m, v, False, 0.1, 1e-5, False)[1, 3], m, v)
    print(torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)[0, 1])
# ---
#  0.4453
#  0.7070
#  0.9648
#  1.2266
# -1.3750
# -1.1172
# -0.8555
# [ CPUBFloat16Type{7} ]
#  1.1406
#  1.3984
#  1.6484
#  1.9062
#  2.1562
#  2.4062
# -0.1270
# [ CPUBFloat16Type{7} ]  0.1107
#  0.1286
#  0.1268
#  0.1250
# [ CPUFloatType{4} ]  0.9619
#  0.9685
#  0.9619
#  0.9685
# [ CPUFloatType{4} ]
#  0.4453
#  0.7070
#  0.9648
#  1.2266
# -1.3750
# -1.1172
# -0.8555
# [ CPUBFloat16Type{7} ]
# None
