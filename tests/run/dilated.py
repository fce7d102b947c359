# Convolutions whose dilated taps are farther apart than a register block has columns.
def values(n: int, by: int):
    return ((torch.arange(n) * by) % 20011).double() / 2048.0 - 4.875

def off(c: int, o: int, h: int, w: int, d: int, biased: bool = False) -> bool:
    x, weight = values(c * h * w, 7919).view(1, c, h, w), values(o * c * 9, 6007).view(o, c, 3, 3) / 64.0
    bias = values(o, 4003) if biased else None
    y = torch.conv2d(x.float(), weight.float(), bias.float() if bias is not None else None, [1, 1], [d, d], [d, d])
    z = torch.conv2d(x, weight, bias, [1, 1], [d, d], [d, d])
    return bool((y.double() - z).abs().max() > 2e-6 * z.abs().max())

def forward():
    print(off(512, 32, 28, 28, 36), off(256, 64, 32, 24, 30), off(320, 24, 28, 28, 12), off(512, 24, 14, 14, 18), off(256, 24, 14, 14, 18, True))
# ---
# False False False False False
# None
