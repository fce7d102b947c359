def forward(x: Tensor) -> Tuple[Tensor, Tensor]:
    w = torch.quantize_per_tensor((torch.arange(640) * 7 % 17).reshape([10, 64]).to(torch.float) - 8., 0.1, 0, torch.qint8)
    p = ops.quantized.linear_prepack(w, None)
    q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
    y = torch.dequantize(ops.quantized.linear(q, p, 0.5, 10))
    return y, torch.kthvalue(y, 2, 1)[1]
