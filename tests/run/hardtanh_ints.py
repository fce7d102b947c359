# The bounds of hardtanh are cut to integers for integers; only then must those of uint8 not be negative.
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
