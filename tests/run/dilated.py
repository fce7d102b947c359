# kiln: run --processor amd
# Convolutions whose taps lie farther out than a register block has columns are products by im2col, in blocks of channels: the
# bits are those of PyTorch 1.13 on two threads of such a processor (`oracle/run.py` has one).
def values(n: int, by: int):
    return ((torch.arange(n) * by) % 20011).float() / 2048.0 - 4.875

def say(c: int, o: int, h: int, w: int, d: int, biased: bool = False):
    x, weight = values(c * h * w, 7919).view(1, c, h, w), values(o * c * 9, 6007).view(o, c, 3, 3) / 64.0
    bias = values(o, 4003) if biased else None
    y = torch.conv2d(x, weight, bias, [1, 1], [d, d], [d, d]).flatten()
    m, e = torch.frexp(y)
    bits = (m * 2.0 ** 24).long() * 512 + e * 2 + torch.signbit(y).long()
    print(c, o, h, w, d, (bits * ((torch.arange(y.numel()) * 40503) % 65521 + 1)).sum().item() % 1000000007)

def forward():
    say(512, 32, 28, 28, 36)
    say(256, 64, 32, 24, 30)
    say(320, 24, 28, 28, 12)
    say(512, 24, 14, 14, 18)
    say(256, 24, 14, 14, 18, True)
    say(320, 24, 28, 28, 36, True)
# ---
# 512 32 28 28 36 167570247
# 256 64 32 24 30 339621842
# 320 24 28 28 12 531767005
# 512 24 14 14 18 947804516
# 256 24 14 14 18 511887755
# 320 24 28 28 36 754306483
# None
