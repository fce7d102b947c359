def block(x: Tensor, inputs: int, outputs: int, stride: int) -> Tensor:
  y = conv(torch.relu(conv(x, inputs, outputs, 3, stride, 1)), outputs, outputs, 3, 1, 1)
  if stride == 1:
    z = x
  else:
    z = conv(x, inputs, outputs, 1, stride, 1)
  return torch.relu(torch.add(y, z))

def forward(x: Tensor) -> Tensor:
  y = torch.max_pool2d(torch.relu(conv(x, 3, 8, 7, 2, 1)), [3, 3], [2, 2], [1, 1], [1, 1], False)
  z = block(block(y, 8, 8, 1), 8, 16, 2)
  return dense(torch.flatten(torch.adaptive_avg_pool2d(z, [1, 1]), 1, -1), 16, 10, 3)
