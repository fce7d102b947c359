# Embedding tables of 8, 4 and 2 bits whose rows end in their scale and minimum; bags of them, weighted and pruned; fake
# quantization of half precision and with float zero points.
def forward():
    w = torch.tensor([[0.5, -1.25, 2.0, 0.1, 7.0], [1.5, 1.5, 1.5, 1.5, 1.5], [-3.0, -2.0, 65.25, 0.0, 1e-05]])
    i, o = torch.tensor([2, 0, 1, 1]), torch.tensor([0, 1, 1])
    by, m = torch.tensor([0.5, 2.0, -1.0, 3.0]), torch.tensor([1, -1, 2], dtype=torch.int32)
    a = torch.ops.quantized.embedding_bag_byte_prepack(w)
    print(a.size(), a[:2], torch.ops.quantized.embedding_bag_byte_unpack(a))
    print(torch.ops.quantized.embedding_bag_byte_rowwise_offsets(a, i, o, per_sample_weights=by))
    print(torch.ops.quantized.embedding_bag_byte_rowwise_offsets(a, i.int(), torch.tensor([0, 3, 4]).int(), include_last_offset=True))
    print(torch.ops.quantized.embedding_bag_byte_rowwise_offsets(a, i.view(2, 2), pruned_weights=True, compressed_indices_mapping=m))
    b, c = torch.ops.quantized.embedding_bag_4bit_prepack(w[:, :4]), torch.ops.quantized.embedding_bag_2bit_prepack(w[:, :4])
    print(b, torch.ops.quantized.embedding_bag_4bit_unpack(b), c, torch.ops.quantized.embedding_bag_2bit_unpack(c))
    print(torch.ops.quantized.embedding_bag_4bit_rowwise_offsets(b, i, o, per_sample_weights=by, pruned_weights=True, compressed_indices_mapping=m))
    print(torch.ops.quantized.embedding_bag_2bit_rowwise_offsets(c, torch.zeros([0], dtype=torch.long), torch.tensor([0, 0])))
    print(torch.ops.quantized.embedding_bag_2bit_rowwise_offsets(c, i[1:2], o[:1]), torch.view_copy(by, dtype=torch.int32))
    x = torch.tensor([-0.149, 0.0501, 12.74, 0.33])
    print(torch.fake_quantize_per_tensor_affine(x.half(), 0.05, 3, 0, 255))
    print(torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2, 0.05, 0.03]), torch.tensor([0.3, 1.5, -7.25, 2.0]), 0, 0, 15))
    p = torch.ops.quantized.linear_prepack_fp16(torch.tensor([[0.1, 1e-3, 70000.0]]), None)
    print(torch.ops.quantized.linear_unpack_fp16(p)[0].double())
# ---
# [3, 13]   54    0  100   42  255  133  132    4   61    0    0  160  191
#    0    0    0    0    0    0    0    0    0    0    0  192   63
# [ CPUByteType{2,13} ]   0.4971  -1.2500   1.9853   0.1088   7.0000
#   1.5000   1.5000   1.5000   1.5000   1.5000
#  -3.0000  -1.9294  65.2500  -0.0559  -0.0559
# [ CPUFloatType{3,5} ]
#  -1.5000  -0.9647  32.6250  -0.0279  -0.0279
#   0.0000   0.0000   0.0000   0.0000   0.0000
#   3.9941   0.5000   6.9706   3.2176  17.0000
# [ CPUFloatType{3,5} ]
#  -1.0029  -1.6794  68.7353   1.5529   8.4441
#   1.5000   1.5000   1.5000   1.5000   1.5000
# [ CPUFloatType{2,5} ]
#  -1.5000  -0.4294  66.7500   1.4441   1.4441
#   0.0000   0.0000   0.0000   0.0000   0.0000
# [ CPUFloatType{2,5} ]
#    8  111  239   50    0  189
#    0    0    0   60    0   62
#    0   31  141   68    0  194
# [ CPUByteType{3,6} ]   0.4834  -1.2500   2.0001   0.0500
#   1.5000   1.5000   1.5000   1.5000
#  -3.0000  -3.0000  65.2617   1.5508
# [ CPUFloatType{3,4} ]  114   85   60    0  189
#    0    0   60    0   62
#   48  176   77    0  194
# [ CPUByteType{3,5} ]   0.9160  -1.2500   1.9990  -0.1670
#   1.5000   1.5000   1.5000   1.5000
#  -3.0000  -3.0000  65.2500  -3.0000
# [ CPUFloatType{3,4} ]
#  -1.5000  -1.5000  32.6309   0.7754
#   0.0000   0.0000   0.0000   0.0000
#   3.0000   3.0000   3.0000   3.0000
# [ CPUFloatType{3,4} ]
#  0  0  0  0
#  0  0  0  0
# [ CPUFloatType{2,4} ]
#  0.9160 -1.2500  1.9990 -0.1670
# [ CPUFloatType{1,4} ]  1.0570e+09
#  1.0737e+09
# -1.0821e+09
#  1.0779e+09
# [ CPUIntType{4} ]
#  -0.1500
#   0.0500
#  12.6016
#   0.3501
# [ CPUHalfType{4} ]
# -0.0300
#  0.1000
#  1.1125
#  0.3300
# [ CPUFloatType{4} ]
#  9.9976e-02  1.0004e-03  6.5504e+04
# [ CPUDoubleType{1,3} ]
# None
