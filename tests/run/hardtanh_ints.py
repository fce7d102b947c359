# The bounds of hardtanh on integers are truncated to integers. Only these truncated bounds must not be negative for uint8.
def forward():
    x = torch.tensor([-3, 0, 5])
    print(torch.hardtanh(x, -0.5, 1.7))
    print(torch.hardtanh(torch.abs(x).to(torch.uint8), -0.5, 3.9))
# ---
#  0
#  0
#  1
# [ CPULongType{3} ]
#  3
#  0
#  3
# [ CPUByteType{3} ]
# None
