def block(x: Tensor, inputs: int) -> Tensor:
  y = torch.silu(conv(x, inputs, inputs * 4, 1, 1, 1))
  z = torch.silu(conv(y, 1, inputs * 4, 5, 1, inputs * 4))
  s = torch.adaptive_avg_pool2d(z, [1, 1])
  t = torch.conv2d(torch.silu(torch.conv2d(s, weight(inputs * inputs * 4, 5, [inputs, inputs * 4, 1, 1]), weight(inputs, 3, [inputs]))),
                   weight(inputs * inputs * 4, 7, [inputs * 4, inputs, 1, 1]), weight(inputs * 4, 3, [inputs * 4]))
  return torch.add(x, conv(torch.mul(torch.sigmoid(t), z), inputs * 4, inputs, 1, 1, 1))

def forward(x: Tensor) -> Tensor:
  y = block(block(torch.silu(conv(x, 3, 8, 3, 2, 1)), 8), 8)
  return dense(torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1, -1), 8, 10, 3)
