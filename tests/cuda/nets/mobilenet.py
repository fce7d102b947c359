def block(x: Tensor, inputs: int, outputs: int, stride: int) -> Tensor:
  y = torch.hardtanh(conv(x, inputs, inputs * 4, 1, 1, 1), 0., 6.)
  z = torch.hardtanh(conv(y, 1, inputs * 4, 3, stride, inputs * 4), 0., 6.)
  return conv(z, inputs * 4, outputs, 1, 1, 1)

def forward(x: Tensor) -> Tensor:
  y = torch.hardtanh(conv(x, 3, 8, 3, 2, 1), 0., 6.)
  z = torch.add(y, block(y, 8, 8, 1))
  h = block(z, 8, 16, 2)
  return dense(torch.mean(h, [2, 3]), 16, 10, 3)
