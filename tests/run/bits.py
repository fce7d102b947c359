# Functions, norms, softmax, small products and regions of floats have the bits of PyTorch 1.13 on x86 with AVX2: a number is
# made of all of a result's.  `oracle/run.py` prints what PyTorch does.
def values(n: int, by: int = 7919):
    return ((torch.arange(n) * by) % 20011).float() / 2048.0 - 4.875

def say(name: str, y):
    y = torch.nan_to_num(y.contiguous().flatten(), 12345.0, 3e38, -3e38)
    m, e = torch.frexp(y)
    bits = (m * 2.0 ** 24).long() * 512 + e * 2 + torch.signbit(y).long()
    print(name, y.numel(), (bits * ((torch.arange(y.numel()) * 40503) % 65521 + 1)).sum().item() % 1000000007)

def norms(c: int):
    x, w, b = values(9 * c).view(9, c) * 0.7, values(c, 31) * 0.2, values(c, 77)
    say("layer_norm", torch.layer_norm(x, [c], w, b, 1e-5, False))
    say("layer_norm plain", torch.layer_norm(x, [c], None, None, 1e-5, False))

def forward():
    for n in [20011, 7, 100]:
        x = values(n)
        say("exp", torch.exp(x))
        say("expm1", torch.expm1(x))
        say("log", torch.log(x.abs()))
        say("log2", torch.log2(x.abs()))
        say("log1p", torch.log1p(x.abs()))
        say("tanh", torch.tanh(x))
        say("erf", torch.erf(x * 0.6))
        say("sigmoid", torch.sigmoid(x))
        say("silu", torch.nn.functional.silu(x))
        say("gelu", torch.nn.functional.gelu(x))
        say("gelu tanh", torch.nn.functional.gelu(x, approximate="tanh"))
    ends = torch.tensor([0.0, math.inf, -math.inf, 1e-45, -1e-45, 1e-38, 88.7, 88.8, -87.4, -103.9, -104.1, 3e38, 1.0, -1.0])
    say("exp", torch.exp(ends))
    say("expm1", torch.expm1(ends))
    say("log", torch.log(ends.abs()))
    say("log1p", torch.log1p(ends.abs()))
    say("tanh", torch.tanh(ends))
    say("erf", torch.erf(ends))
    say("sigmoid", torch.sigmoid(ends))
    for c in [5, 8, 20, 128, 768, 2051]:
        norms(c)
    for m, n, k in [(40, 196, 96), (5, 17, 64), (7, 7, 500), (20, 31, 50), (12, 196, 30), (30, 50, 400), (10, 20, 500)]:
        x, w = values(m * k).view(m, k) * 0.3, values(k * n, 6007).view(k, n) * 0.7
        say("mm", torch.mm(x, w))
        say("mm by transposed", torch.mm(x, w.t().contiguous().t()))
        say("mm of transposed", torch.mm(x.t().contiguous().t(), w))
        say("addmm", torch.addmm(values(n, 77), x, w))
        say("addmm by transposed", torch.addmm(values(n, 77), x, w.t().contiguous().t()))
        say("addmm of a column", torch.addmm(values(1, 77), x, w[:, :1]))
    x = values(2 * 24 * 196).view(2, 24, 14, 14)
    say("group_norm", torch.group_norm(x, 4, values(24, 31), values(24, 77), 1e-5, False))
    for c in [3, 8, 91, 1000]:
        x = values(7 * c).view(7, c)
        for d in [0, 1]:
            say("softmax", torch.softmax(x, d))
            say("log_softmax", torch.log_softmax(x, d))
    x = values(2 * 21 * 37).view(2, 21, 37)
    say("softmax", torch.softmax(x, 1))
    say("log_softmax", torch.log_softmax(x, 1))
    for n in [1, 2, 3, 5]:
        say("bmm", torch.bmm(values(3 * n * 16).view(3, n, 16), values(48 * n, 31).view(3, 16, n)))
    x = values(16 * 50 * 48).view(1, 16, 50, 48)
    at = values(200, 31).view(50, 4).abs() * 20
    rois = torch.cat([torch.zeros([50, 1]), at[:, :2], at[:, :2] + at[:, 2:]], 1)
    for ratio in [0, 2]:
        say("roi_align", torch.ops.torchvision.roi_align(x, rois, 0.25, 7, 5, ratio, ratio == 2))
# ---
# exp 20011 203719879
# expm1 20011 458059585
# log 20011 351821765
# log2 20011 796906356
# log1p 20011 428840511
# tanh 20011 316122438
# erf 20011 643210610
# sigmoid 20011 227719615
# silu 20011 46592698
# gelu 20011 200753556
# gelu tanh 20011 377972747
# exp 7 653319572
# expm1 7 235781145
# log 7 775430139
# log2 7 958306258
# log1p 7 4955085
# tanh 7 451239093
# erf 7 426272564
# sigmoid 7 486279081
# silu 7 497484540
# gelu 7 942117592
# gelu tanh 7 679514155
# exp 100 158419850
# expm1 100 795379646
# log 100 123394749
# log2 100 550481075
# log1p 100 696073341
# tanh 100 11924041
# erf 100 626393528
# sigmoid 100 286597809
# silu 100 714178628
# gelu 100 86460481
# gelu tanh 100 515736120
# exp 14 904244581
# expm1 14 575623367
# log 14 956160415
# log1p 14 16699922
# tanh 14 331312125
# erf 14 78716076
# sigmoid 14 555969667
# layer_norm 45 184492783
# layer_norm plain 45 985938871
# layer_norm 72 964828436
# layer_norm plain 72 626010582
# layer_norm 180 193338859
# layer_norm plain 180 564464108
# layer_norm 1152 574348758
# layer_norm plain 1152 388034165
# layer_norm 6912 153828993
# layer_norm plain 6912 265897229
# layer_norm 18459 650411605
# layer_norm plain 18459 942972697
# mm 7840 855923421
# mm by transposed 7840 855923421
# mm of transposed 7840 855923421
# addmm 7840 562132247
# addmm by transposed 7840 562132247
# addmm of a column 40 348277278
# mm 85 866646186
# mm by transposed 85 866646186
# mm of transposed 85 866646186
# addmm 85 799297925
# addmm by transposed 85 799297925
# addmm of a column 5 969057658
# mm 49 13173187
# mm by transposed 49 13173187
# mm of transposed 49 13173187
# addmm 49 523518355
# addmm by transposed 49 523518355
# addmm of a column 7 105056835
# mm 620 618473663
# mm by transposed 620 618473663
# mm of transposed 620 618473663
# addmm 620 391555149
# addmm by transposed 620 391555149
# addmm of a column 20 568304752
# mm 2352 469544127
# mm by transposed 2352 469544127
# mm of transposed 2352 469544127
# addmm 2352 884074951
# addmm by transposed 2352 884074951
# addmm of a column 12 649747448
# mm 1500 999311197
# mm by transposed 1500 999311197
# mm of transposed 1500 999311197
# addmm 1500 197647982
# addmm by transposed 1500 197647982
# addmm of a column 30 461307782
# mm 200 155634622
# mm by transposed 200 155634622
# mm of transposed 200 155634622
# addmm 200 10100366
# addmm by transposed 200 10100366
# addmm of a column 10 454137601
# group_norm 9408 15535282
# softmax 21 619688177
# log_softmax 21 31074419
# softmax 21 525492770
# log_softmax 21 812066719
# softmax 56 297303222
# log_softmax 56 56062734
# softmax 56 389146067
# log_softmax 56 690173494
# softmax 637 893380874
# log_softmax 637 251118267
# softmax 637 661882640
# log_softmax 637 448031125
# softmax 7000 832196321
# log_softmax 7000 491027724
# softmax 7000 159516660
# log_softmax 7000 535689249
# softmax 1554 173841192
# log_softmax 1554 756024702
# bmm 3 207945575
# bmm 12 11091194
# bmm 27 173516546
# bmm 75 241488444
# roi_align 28000 643196665
# roi_align 28000 255111685
# None
