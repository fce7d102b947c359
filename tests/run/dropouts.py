def forward():
    torch.manual_seed(0)
    x = torch.ones([8])
    print(torch.dropout(x, 0.5, True), torch.dropout(x, 0.5, True), torch.dropout(x, 0.5, False))
    y = torch.ones([2, 3])
    print(torch.alpha_dropout(y, 0.5, True), torch.alpha_dropout(y, 0.5, True))
    for i in range(2):
        print(torch.feature_dropout(y, 0.5, True), torch.native_dropout(y, 0.5, True)[1])
# ---
#  0
#  0
#  2
#  0
#  0
#  0
#  2
#  2
# [ CPUFloatType{8} ]  0
#  2
#  2
#  2
#  2
#  0
#  2
#  2
# [ CPUFloatType{8} ]  1
#  1
#  1
#  1
#  1
#  1
#  1
#  1
# [ CPUFloatType{8} ]
#  1.6656  1.6656 -0.7792
# -0.7792  1.6656 -0.7792
# [ CPUFloatType{2,3} ]  1.6656 -0.7792  1.6656
# -0.7792 -0.7792 -0.7792
# [ CPUFloatType{2,3} ]
#  0  2  0
#  0  2  2
# [ CPUFloatType{2,3} ]  1  0  0
#  1  0  1
# [ CPUBoolType{2,3} ]
#  2  2  0
#  2  0  2
# [ CPUFloatType{2,3} ]  0  1  0
#  0  0  1
# [ CPUBoolType{2,3} ]
# None
