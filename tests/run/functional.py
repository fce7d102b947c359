import torch
import torch.nn.functional as F

def forward():
    a = torch.arange(9.0).view(3, 3) - 4
    b = (a * 7).remainder(5.0)
    p = torch.sigmoid(a)
    y = torch.tensor([1, 0, 2])
    print(F.mse_loss(a,b))
    print(F.mse_loss(a,b,reduction="sum"))
    print(F.mse_loss(a,b,reduction="none"))
    print(F.mse_loss(a,b,None,None,"sum"))
    print(F.l1_loss(a,b,reduction="sum"))
    print(F.smooth_l1_loss(a,b,beta=0.5))
    print(F.huber_loss(a,b,delta=2.0))
    print(F.kl_div(p.log(),p,reduction="batchmean"))
    print(F.kl_div(p,p,reduction="sum",log_target=True))
    print(F.binary_cross_entropy(p,p,reduction="sum"))
    print(F.cross_entropy(a,y))
    print(F.cross_entropy(a,y,reduction="none",label_smoothing=0.1))
    print(F.nll_loss(a,y,reduction="sum"))
    print(F.hinge_embedding_loss(a,b.sign()))
    print(F.cosine_embedding_loss(a,b,y.sign()*2-1))
    print(F.margin_ranking_loss(a,b,b.sign(),margin=0.5))
    print(F.triplet_margin_loss(a,b,p))
    print(F.soft_margin_loss(a,b.sign()))
    print(F.multilabel_margin_loss(a,y.expand(3,3)))
    print(F.multi_margin_loss(a,y))
    print(F.poisson_nll_loss(a,p))
    print(F.multilabel_soft_margin_loss(a,p))
    print(F.ctc_loss(p.log().unsqueeze(1),torch.tensor([[1]]),torch.tensor([3]),torch.tensor([1])))
    print(F.relu(a,inplace=True))
    print(F.relu(a))
    print(F.leaky_relu(a,0.1,True))
    print(F.elu(a))
    print(F.hardtanh(a))
    print(F.threshold(a,1.0,0.5))
    print(F.dropout(a,0.5,False))
    print(F.dropout(a,training=False))
    print(F.softmax(a))
    print(F.softmax(a,-1))
    print(F.softmax(a,0,dtype=torch.float64))
    print(F.log_softmax(a,dim=1))
    print(F.softmin(a,1))
    print(F.softsign(a))
    print(F.tanhshrink(a))
    print(F.normalize(a))
    print(F.normalize(a,p=1.0,dim=0))
    print(F.embedding(y,a))
    print(F.embedding(y,a,padding_idx=-1))
    print(F.batch_norm(a,a[0],p[0]))
    print(F.batch_norm(a,None,None,training=True))
    print(F.unfold(a[None,None],2))
    print(F.unfold(a[None,None],(2,2),padding=1))
    print(F.fold(F.unfold(a[None,None],2),(3,3),2))
    print(F.adaptive_max_pool2d(a[None],1))
    print(F.adaptive_max_pool2d(a[None],(2,1)))
    print(F.adaptive_avg_pool2d(a[None],2))
    print(F.grid_sample(a[None,None],torch.zeros(1,1,1,2)))
    print(F.affine_grid(torch.eye(2,3)[None],[1,1,2,2]))
    print(F.interpolate(a[None,None],scale_factor=2.0))
    print(F.interpolate(a[None,None],size=[2,2],mode="bilinear",align_corners=True))
    print(F.interpolate(a[None,None],size=5))
    print(F.interpolate(a[None,None],(4,4),mode="bicubic"))
    print(F.interpolate(a[None,None],size=2,mode="area"))
    print(F.glu(a[:,:2]))
    print(F.logsigmoid(a))
    print(F.dropout2d(a,training=False))
    print(F.feature_alpha_dropout(a,training=False))
    print(torch.lu(a))
    print(torch.unique(a))
    print(torch.unique(a,return_counts=True))
    print(torch.unique(a,dim=0,return_inverse=True,return_counts=True))
    print(torch.unique_consecutive(a))
    print(torch.tensordot(a,a,2))
    print(torch.tensordot(a,a,dims=([0],[1])))
    print(torch.tensordot(a,a,dims=torch.tensor(1)))
    print(torch.norm(a,p="fro",dim=0))
    print(torch.norm(a,p="nuc"))
    print(torch.norm(a,dim=[0,1]))
    print(torch.norm(a,2.0,1))
    print(torch.norm(a,dim=1,keepdim=True))
    print(torch.functional.norm(a))
    print(torch.functional.split(a,1))
    print(torch.functional.einsum("ij->j",[a]))
    print(torch.stft(torch.arange(40.0),8,4,8,torch.ones(8),False,return_complex=True))
    print(a.type(torch.int))
    print(a[slice(0,2)])
    print(a[slice(None,None,2),1])
    print([1,2,3][slice(1,None)])
    print("abc"[slice(2)])
    print(a.where(a>0,b))
    print(a.where(a>0,1.0))
    print(a[[0.1,1.2]])
    print(a[[True,False,True]])
    print(a[[0,1]])
    print(torch.DoubleTensor([1.0]))
    print(torch.LongTensor([1,2]))
    print(torch.IntTensor())
    print(torch.BoolTensor([1]))
    print(torch.FloatTensor([1,2]))
    print(torch._C._nn.linear(a,a))
    print(F.interpolate(a[None],scale_factor=2.0,mode="linear"))
    print((torch.istft(torch.stft(torch.arange(40.0), 8, return_complex=True), 8) - torch.arange(40.0)).abs().max() < 1e-4)
    print(F.mse_loss(a, b, reduction="x"))
# ---
# 13.3333
# [ CPUFloatType{} ]
# 120
# [ CPUFloatType{} ]
#  36  49   9
#  16   0   1
#   4   4   1
# [ CPUFloatType{3,3} ]
# 120
# [ CPUFloatType{} ]
# 26
# [ CPUFloatType{} ]
# 2.66667
# [ CPUFloatType{} ]
# 4.11111
# [ CPUFloatType{} ]
# 0
# [ CPUFloatType{} ]
# 0
# [ CPUFloatType{} ]
# 3.15014
# [ CPUFloatType{} ]
# 1.40761
# [ CPUFloatType{} ]
#  1.4076
#  2.3076
#  0.5076
# [ CPUFloatType{3} ]
# 0
# [ CPUFloatType{} ]
# 0.111111
# [ CPUFloatType{} ]
# 0.684625
# [ CPUFloatType{} ]
# 2.94444
# [ CPUFloatType{} ]
# 3.0478
# [ CPUFloatType{} ]
# 1.30078
# [ CPUFloatType{} ]
# 0
# [ CPUFloatType{} ]
# 0.777778
# [ CPUFloatType{} ]
# 8.64505
# [ CPUFloatType{} ]
# 0.350016
# [ CPUFloatType{} ]
# 2.5796
# [ CPUFloatType{} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  1  1  1
# [ CPUFloatType{3,3} ]
#  0.5000  0.5000  0.5000
#  0.5000  0.5000  0.5000
#  2.0000  3.0000  4.0000
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0.3333  0.3333  0.3333
#  0.2119  0.2119  0.5761
#  0.0900  0.2447  0.6652
# [ CPUFloatType{3,3} ]
#  0.3333  0.3333  0.3333
#  0.2119  0.2119  0.5761
#  0.0900  0.2447  0.6652
# [ CPUFloatType{3,3} ]
#  0.1065  0.0453  0.0171
#  0.1065  0.0453  0.0466
#  0.7870  0.9094  0.9362
# [ CPUDoubleType{3,3} ]
# -1.0986 -1.0986 -1.0986
# -1.5514 -1.5514 -0.5514
# -2.4076 -1.4076 -0.4076
# [ CPUFloatType{3,3} ]
#  0.3333  0.3333  0.3333
#  0.4223  0.4223  0.1554
#  0.6652  0.2447  0.0900
# [ CPUFloatType{3,3} ]
#  0.0000  0.0000  0.0000
#  0.0000  0.0000  0.5000
#  0.6667  0.7500  0.8000
# [ CPUFloatType{3,3} ]
#  0.0000  0.0000  0.0000
#  0.0000  0.0000  0.2384
#  1.0360  2.0049  3.0007
# [ CPUFloatType{3,3} ]
#  0.0000  0.0000  0.0000
#  0.0000  0.0000  1.0000
#  0.3714  0.5571  0.7428
# [ CPUFloatType{3,3} ]
#  0.0000  0.0000  0.0000
#  0.0000  0.0000  0.2000
#  1.0000  1.0000  0.8000
# [ CPUFloatType{3,3} ]
#  0  0  1
#  0  0  0
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  1
#  0  0  0
#  2  3  4
# [ CPUFloatType{3,3} ]
#   0.0000   0.0000   0.0000
#   0.0000   0.0000   2.8963
#  14.9087  13.7742  11.5851
# [ CPUFloatType{3,3} ]
# -0.7071 -0.7071 -0.9806
# -0.7071 -0.7071 -0.3922
#  1.4142  1.4142  1.3728
# [ CPUFloatType{3,3} ]
# (1,.,.) =
#   0  0  0  0
#   0  0  0  1
#   0  0  2  3
#   0  1  3  4
# [ CPUFloatType{1,4,4} ]
# (1,.,.) =
#   0  0  0  0  0  0  0  0  0  0  0  1  0  2  3  4
#   0  0  0  0  0  0  0  0  0  0  1  0  2  3  4  0
#   0  0  0  0  0  0  0  1  0  2  3  4  0  0  0  0
#   0  0  0  0  0  0  1  0  2  3  4  0  0  0  0  0
# [ CPUFloatType{1,4,16} ]
# (1,1,.,.) =
#   0  0  0
#   0  0  2
#   2  6  4
# [ CPUFloatType{1,1,3,3} ]
# (1,.,.) =
#   4
# [ CPUFloatType{1,1,1} ]
# (1,.,.) =
#   1
#   4
# [ CPUFloatType{1,2,1} ]
# (1,.,.) =
#   0.0000  0.2500
#   1.2500  2.0000
# [ CPUFloatType{1,2,2} ]
# (1,1,.,.) =
#   0
# [ CPUFloatType{1,1,1,1} ]
# (1,1,.,.) =
#  -0.5000 -0.5000
#   0.5000 -0.5000
#
# (1,2,.,.) =
#  -0.5000  0.5000
#   0.5000  0.5000
# [ CPUFloatType{1,2,2,2} ]
# (1,1,.,.) =
#   0  0  0  0  0  0
#   0  0  0  0  0  0
#   0  0  0  0  1  1
#   0  0  0  0  1  1
#   2  2  3  3  4  4
#   2  2  3  3  4  4
# [ CPUFloatType{1,1,6,6} ]
# (1,1,.,.) =
#   0  0
#   2  4
# [ CPUFloatType{1,1,2,2} ]
# (1,1,.,.) =
#   0  0  0  0  0
#   0  0  0  0  0
#   0  0  0  0  1
#   0  0  0  0  1
#   2  2  3  3  4
# [ CPUFloatType{1,1,5,5} ]
# (1,1,.,.) =
#   0.0000  0.0079 -0.0259 -0.0769
#  -0.2118 -0.3603 -0.1112  0.3560
#   0.6948  0.8293  1.5206  2.2706
#   2.0666  2.7193  3.6934  4.2871
# [ CPUFloatType{1,1,4,4} ]
# (1,1,.,.) =
#   0.0000  0.2500
#   1.2500  2.0000
# [ CPUFloatType{1,1,2,2} ]
#  0.0000
#  0.0000
#  1.9051
# [ CPUFloatType{3,1} ]
# -0.6931 -0.6931 -0.6931
# -0.6931 -0.6931 -0.3133
# -0.1269 -0.0486 -0.0181
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
# ( 2  3  4
#  0  0  1
#  0  0  0
# [ CPUFloatType{3,3} ],  3
#  2
#  3
# [ CPUIntType{3} ])
#  0
#  1
#  2
#  3
#  4
# [ CPUFloatType{5} ]
# ( 0
#  1
#  2
#  3
#  4
# [ CPUFloatType{5} ],  5
#  1
#  1
#  1
#  1
# [ CPULongType{5} ])
# ( 0  0  0
#  0  0  1
#  2  3  4
# [ CPUFloatType{3,3} ],  0
#  1
#  2
# [ CPULongType{3} ],  1
#  1
#  1
# [ CPULongType{3} ])
#  0
#  1
#  2
#  3
#  4
# [ CPUFloatType{5} ]
# 30
# [ CPUFloatType{} ]
#   0   2   8
#   0   3  12
#   0   4  19
# [ CPUFloatType{3,3} ]
#   0   0   0
#   2   3   4
#   8  12  19
# [ CPUFloatType{3,3} ]
#  2.0000
#  3.0000
#  4.1231
# [ CPUFloatType{3} ]
# 6.10009
# [ CPUFloatType{} ]
# 5.47723
# [ CPUFloatType{} ]
#  0.0000
#  1.0000
#  5.3852
# [ CPUFloatType{3} ]
#  0.0000
#  1.0000
#  5.3852
# [ CPUFloatType{3,1} ]
# 5.47723
# [ CPUFloatType{} ]
# [ 0  0  0
# [ CPUFloatType{1,3} ],  0  0  1
# [ CPUFloatType{1,3} ],  2  3  4
# [ CPUFloatType{1,3} ]]
#  2
#  3
#  5
# [ CPUFloatType{3} ]
#   28   60   92  124  156  188  220  252  284
#   -4   -4   -4   -4   -4   -4   -4   -4   -4
#   -4   -4   -4   -4   -4   -4   -4   -4   -4
#   -4   -4   -4   -4   -4   -4   -4   -4   -4
#   -4   -4   -4   -4   -4   -4   -4   -4   -4
# [ CPUComplexFloatType{5,9} ]
#  0  0  0
#  0  0  1
#  2  3  4
# [ CPUIntType{3,3} ]
#  0  0  0
#  0  0  1
# [ CPUFloatType{2,3} ]
#  0
#  3
# [ CPUFloatType{2} ]
# [2, 3]
# ab
#  2  4  1
#  3  0  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  1  1  1
#  1  1  1
#  2  3  4
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
# [ CPUFloatType{2,3} ]
#  0  0  1
#  0  0  0
#  0  0  1
# [ CPUFloatType{3,3} ]
#  0  0  0
#  0  0  1
# [ CPUFloatType{2,3} ]
#  1
# [ CPUDoubleType{1} ]
#  1
#  2
# [ CPULongType{2} ]
# [ CPUIntType{0} ]
#  1
# [ CPUBoolType{1} ]
#  1
#  2
# [ CPUFloatType{2} ]
#   0   0   0
#   0   1   4
#   0   4  29
# [ CPUFloatType{3,3} ]
# (1,.,.) =
#   0.0000  0.0000  0.0000  0.0000  0.0000  0.0000
#   0.0000  0.0000  0.0000  0.2500  0.7500  1.0000
#   2.0000  2.2500  2.7500  3.2500  3.7500  4.0000
# [ CPUFloatType{1,3,6} ]
# 1
# [ CPUBoolType{} ]
# error: Traceback of TorchScript (most recent call last):
#   File "run/functional.py", line 105, in forward
#     print(F.mse_loss(a, b, reduction="x"))
#           ~~~~~~~~~~ <--- HERE
#
# builtins.ValueError: x is not a valid value for reduction
