# prim::quantize_u8 and its like. Quantized tensors, per tensor and per channel: written to, compared, built from others.
def forward():
    x = torch.tensor([0.5, 1.5, 2.5, -7.25, 1000.0, float("nan")])
    print(ops.prim.quantize_u8(x, 1.0, 3), ops.prim.quantize_i8(x.reshape([2, 3]).t(), 2.0, -3))
    y = torch.tensor([[0.1, -0.3, 2.0], [0.7, 0.33, -1.0]])
    q, p = torch.quantize_per_tensor(y, 0.05, 60, torch.quint8), torch.quantize_per_tensor(y * 0.5, 0.02, 3, torch.quint8)
    by = torch.quantize_per_channel(y, torch.tensor([0.05, 0.02]), torch.tensor([60, 5]), 0, torch.quint8)
    print(by > 0.1, by == q, by.equal(by), q.equal(p), q != 0.1)
    print(by.clone().copy_(y * 0.5), by.clone().fill_(0.3), torch.empty_like(by).q_per_channel_axis())
    print(q.clone().index_put_([torch.tensor([1])], y[0]), torch.index_put(q, [torch.tensor([1])], torch.tensor(0.3)))
    print(q.clone().fill_(torch.tensor(0.3)), torch.stack([q, p]).int_repr(), torch.full_like(q, 0.3))
    w = torch.quantize_per_tensor(torch.tensor([0.2, 0.5, -0.1]), 0.01, 20, torch.quint8)
    print(torch.prelu(q, w), torch.ops.quantized.prelu(q, w[:1], 0.04, 70), torch.std(q, [1], unbiased=False), torch.std(q))
    a = torch._empty_per_channel_affine_quantized([2, 1], scales=torch.tensor([0.1, 0.2]), zero_points=torch.tensor([1, 2]), axis=0, dtype=torch.quint8)
    print(a.q_per_channel_scales(), torch.empty_quantized([2], q).q_scale())
    r = torch.quantize_per_tensor(y, 0.05, -10, torch.qint32)
    print(torch.ops.quantized.mul_scalar(r, -0.3), torch.tanh(r).q_scale(), torch.ops.quantized.dropout(r, 0.05, 60).q_zero_point())
# ---
#    3
#    5
#    5
#    0
#  255
#    0
# [ CPUByteType{6} ]   -2  -17
#    0  127
#    2 -128
# [ CPUCharType{3,2} ]
#  0  0  1
#  1  1  0
# [ CPUBoolType{2,3} ]  1  1  1
#  1  0  0
# [ CPUBoolType{2,3} ] True False  0  1  1
#  1  1  1
# [ CPUBoolType{2,3} ]
#  0.0500 -0.1500  1.0000
#  0.3600  0.1600 -0.1000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_channel_affine, scales: 0.01 *
#  5.0000
#  2.0000
# [ CPUDoubleType{2} ], zero_points:  60
#   5
# [ CPULongType{2} ], axis: 0 ]  0.3000  0.3000  0.3000
#  0.3000  0.3000  0.3000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_channel_affine, scales: 0.01 *
#  5.0000
#  2.0000
# [ CPUDoubleType{2} ], zero_points:  60
#   5
# [ CPULongType{2} ], axis: 0 ] 0
#  0.1000 -0.3000  2.0000
#  0.1000 -0.3000  2.0000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_tensor_affine, scale: 0.0500, zero_point: 60 ]  0.1000 -0.3000  2.0000
#  0.3000  0.3000  0.3000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_tensor_affine, scale: 0.0500, zero_point: 60 ]
#  0.3000  0.3000  0.3000
#  0.3000  0.3000  0.3000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_tensor_affine, scale: 0.0500, zero_point: 60 ] (1,.,.) =
#    62   54  100
#    74   67   40
#
# (2,.,.) =
#   61  59  80
#   67  63  59
# [ CPUByteType{2,2,3} ]  0.3000  0.3000  0.3000
#  0.3000  0.3000  0.3000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_tensor_affine, scale: 0.0500, zero_point: 60 ]
#  0.1000 -0.1500  2.0000
#  0.7000  0.3500  0.1000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_tensor_affine, scale: 0.0500, zero_point: 60 ]  0.0800 -0.0800  2.0000
#  0.7200  0.3600 -0.2000
# [ QuantizedCPUQUInt8Type{2,3}, qscheme: per_tensor_affine, scale: 0.0400, zero_point: 70 ]  1.0000
#  0.7500
# [ QuantizedCPUQUInt8Type{2}, qscheme: per_tensor_affine, scale: 0.0500, zero_point: 60 ] 1
# [ QuantizedCPUQUInt8Type{}, qscheme: per_tensor_affine, scale: 0.05, zero_point: 60 ]
#  0.1000
#  0.2000
# [ CPUDoubleType{2} ] 0.050000000000000003
# -0.0300  0.0900 -0.6000
# -0.2100 -0.1050  0.3000
# [ QuantizedCPUQInt32Type{2,3}, qscheme: per_tensor_affine, scale: 0.0150, zero_point: 9 ] 4.6566128730773926e-10 -10
# None
