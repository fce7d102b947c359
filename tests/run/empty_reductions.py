# Reductions of no elements: which have a value, and how the message names an empty dim.
def forward():
    x = torch.zeros(3, 0)
    for p in [float("inf"), -float("inf"), -1., 0., 0.5, 2.]:
        print(x.norm(p, [-1]), x.norm(p), x.norm(p, [0], True).size(), torch.linalg.vector_norm(x, p, [0]).size())
    print(torch.dist(x, x, float("inf")), torch.linalg.cond(x), torch.linalg.cond(torch.zeros(2, 0, 0), 1))
    print(torch.linalg.vector_norm(x, 0.5, [-1]))
    print(x.amax([0]).size(), x.amin([-2], True).size(), x.argmax(0).size(), torch.aminmax(x, dim=0)[0].size())
    print(torch.cumulative_trapezoid(x).size(), torch.trapezoid(x), torch.tensor(2.5).topk(0)[0])
    print(bool(torch.isnan(torch.nn.functional.cross_entropy(x, x))))
    print(x.amax([0, -1]))
# ---
#  0
#  0
#  0
# [ CPUFloatType{3} ] 0
# [ CPUFloatType{} ] [1, 0] [0]
#  0
#  0
#  0
# [ CPUFloatType{3} ] 0
# [ CPUFloatType{} ] [1, 0] [0]
#  0
#  0
#  0
# [ CPUFloatType{3} ] 0
# [ CPUFloatType{} ] [1, 0] [0]
#  0
#  0
#  0
# [ CPUFloatType{3} ] 0
# [ CPUFloatType{} ] [1, 0] [0]
#  0
#  0
#  0
# [ CPUFloatType{3} ] 0
# [ CPUFloatType{} ] [1, 0] [0]
#  0
#  0
#  0
# [ CPUFloatType{3} ] 0
# [ CPUFloatType{} ] [1, 0] [0]
# 0
# [ CPUFloatType{} ] 0
# [ CPUFloatType{} ]  0
#  0
# [ CPUFloatType{2} ]
#  0
#  0
#  0
# [ CPUFloatType{3} ]
# [0] [1, 0] [0] [0]
# [3, 0]  0
#  0
#  0
# [ CPUFloatType{3} ] 2.5
# [ CPUFloatType{} ]
# True
# error: Traceback of TorchScript (most recent call last):
#   File "run/empty_reductions.py", line 11, in forward
#     print(x.amax([0, -1]))
#           ~~~~~~ <--- HERE
#
# RuntimeError: amax(): Expected reduction dim -1 to have non-zero size.
