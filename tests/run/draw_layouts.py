# Draws with a transposed tensor as parameter fill a contiguous result. Draws shaped like it, or into it, use its own order.
def forward():
    x = (torch.arange(12).view(4, 3) / 12.).t()
    torch.manual_seed(3)
    for y in [torch.bernoulli(x), torch.bernoulli(x, 0.4), torch.normal(x, x + 1), torch.normal(x, 0.5), torch.normal(2., x), torch.normal(x, x[:, :1] + 1)]:
        print(y, y.is_contiguous())
    for y in [torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 9), torch.dropout(x, 0.5, True), torch.poisson(x), x.clone().uniform_()]:
        print(y, y.is_contiguous())
# ---
#  0  1  1  1
#  0  1  0  1
#  0  0  1  1
# [ CPUFloatType{3,4} ] True
#  1  0  0  0
#  1  0  0  1
#  0  1  1  0
# [ CPUFloatType{3,4} ] True
#  0.4952  0.0446 -0.5169 -1.1034
#  0.8933  0.6519 -0.0376  1.1118
# -1.2144  1.1737 -1.7517 -0.2896
# [ CPUFloatType{3,4} ] True
#  0.0772  0.1260  0.7268  0.7560
#  0.7544  1.0643  0.8014  1.3418
# -0.9296  0.5228  0.1969  0.7549
# [ CPUFloatType{3,4} ] True
#  2.0000  2.2059  1.7365  2.6080
#  1.9330  1.6500  1.9360  2.2941
#  1.9259  1.6038  1.9625  0.6804
# [ CPUFloatType{3,4} ] True
# -1.2133  1.3447  0.0043  1.5077
# -0.6524  1.2422  1.2456  1.5661
#  0.6478  0.4471  0.6338  2.6232
# [ CPUFloatType{3,4} ] True
#  0.7514  0.5978  0.0296  0.5061
#  0.3795  0.7303  0.4338  0.5221
#  0.1249  0.7907  0.0182  0.6627
# [ CPUFloatType{3,4} ] False
# -1.9673 -0.1173  0.1657 -0.4708
# -2.0263 -0.9239  0.0118 -1.3275
#  0.5650 -0.7378  0.1330 -1.7062
# [ CPUFloatType{3,4} ] False
#  2  2  3  2
#  2  0  5  5
#  7  5  1  5
# [ CPUFloatType{3,4} ] False
#  0.0000  0.0000  0.0000  1.5000
#  0.1667  0.0000  0.0000  1.6667
#  0.3333  0.8333  1.3333  1.8333
# [ CPUFloatType{3,4} ] False
#  0  0  2  1
#  0  0  0  0
#  0  2  0  1
# [ CPUFloatType{3,4} ] True
#  0.5719  0.8202  0.6874  0.8231
#  0.8448  0.0613  0.8207  0.3438
#  0.5996  0.4458  0.6184  0.4570
# [ CPUFloatType{3,4} ] False
# None
