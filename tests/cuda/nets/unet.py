def two(x: Tensor, inputs: int, outputs: int) -> Tensor:
  return torch.relu(conv(torch.relu(conv(x, inputs, outputs, 3, 1, 1)), outputs, outputs, 3, 1, 1))

def up(x: Tensor, inputs: int, outputs: int) -> Tensor:
  return torch.conv_transpose2d(x, weight(inputs * outputs * 4, 5, [inputs, outputs, 2, 2]), weight(outputs, 3, [outputs]), [2, 2], [0, 0], [0, 0], 1, [1, 1])

def forward(x: Tensor) -> Tensor:
  a = two(x, 3, 8)
  b = two(torch.max_pool2d(a, [2, 2], [2, 2], [0, 0], [1, 1], False), 8, 16)
  c = two(torch.max_pool2d(b, [2, 2], [2, 2], [0, 0], [1, 1], False), 16, 16)
  d = two(torch.cat([b, up(c, 16, 8)], 1), 24, 8)
  e = two(torch.cat([a, up(d, 8, 8)], 1), 16, 8)
  return torch.conv2d(e, weight(16, 7, [2, 8, 1, 1]), weight(2, 3, [2]))
