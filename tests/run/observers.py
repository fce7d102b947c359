from typing import List
def show(lists: List[List[float]]):
    for l in lists:
        print([int(1000 * v) for v in l])

def forward():
    """Observers of quantization-aware training; tensors in oneDNN's layout."""
    x = torch.tensor([[0.5, -1.25, 2.0], [3.0, 0.0, -0.75]])
    on = torch.tensor([1])
    off = torch.tensor([0])
    low = torch.tensor(float("inf"))
    high = torch.tensor(-float("inf"))
    s = torch.ones(1)
    z = torch.zeros(1, dtype=torch.int32)
    for symmetric in [False, True]:
        for k in range(2):
            y = torch.fused_moving_avg_obs_fake_quant(x * (k + 1), on, on, low, high, s, z, 0.1, 0, 15, 0, False, symmetric)
            print([int(1000 * float(v)) for v in y.flatten()], int(1000 * float(low)), int(1000 * float(high)), int(1000 * float(s[0])), int(z[0]))
    y = torch.fused_moving_avg_obs_fake_quant(x, off, off, low, high, s, z, 0.1, 0, 15, 0)
    print(bool((y == x).all()), int(1000 * float(low)))
    lows = torch.zeros(0)
    highs = torch.zeros(0)
    ss = torch.zeros(0)
    zs = torch.zeros(0, dtype=torch.int32)
    y = torch.fused_moving_avg_obs_fake_quant(x, on, on, lows, highs, ss, zs, 0.1, -8, 7, 0, True, True)
    print([int(1000 * float(v)) for v in y.flatten()], [int(1000 * float(v)) for v in lows], [int(1000 * float(v)) for v in ss], zs)
    print(x.to_mkldnn().to_dense())
# ---
# [566, -1133, 1983, 3116, 0, -850] -1250 3000 283 4
# [935, -1246, 3428, 3428, 0, -1246] -1375 3299 311 4
# [467, -1401, 1868, 2802, 0, -934] -1362 3269 467 8
# [1012, -2530, 3542, 3542, 0, -1518] -1476 3542 506 8
# True -1476
# [571, -1142, 2000, 3000, 0, -857] [-1250, -750] [285, 428]  0
#  0
# [ CPUIntType{2} ]
#  0.5000 -1.2500  2.0000
#  3.0000  0.0000 -0.7500
# [ CPUFloatType{2,3} ]
# None
