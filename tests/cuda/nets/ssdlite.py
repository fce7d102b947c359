def boxes(x: Tensor, inputs: int, each: int) -> Tensor:
  y = torch.hardtanh(conv(x, 1, inputs, 3, 1, inputs), 0., 6.)
  z = torch.conv2d(y, weight(inputs * each * 2, 5, [each * 2, inputs, 1, 1]), weight(each * 2, 3, [each * 2]))
  return torch.reshape(torch.permute(torch.reshape(z, [1, 2, each, torch.size(z, 2), torch.size(z, 3)]), [0, 3, 4, 1, 2]), [1, -1, each])

def forward(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  a = torch.hardtanh(conv(x, 3, 8, 3, 2, 1), 0., 6.)
  b = torch.hardtanh(conv(a, 8, 16, 3, 2, 1), 0., 6.)
  scores = torch.softmax(torch.cat([boxes(a, 8, 5), boxes(b, 16, 5)], 1), -1)
  where = torch.cat([boxes(a, 8, 4), boxes(b, 16, 4)], 1)
  corner = torch.sub(torch.slice(where, -1, 0, 2), torch.mul(torch.exp(torch.slice(where, -1, 2, 4)), 0.5))
  best, which = torch.topk(torch.max(scores, -1)[0], 5)
  return torch.clamp(torch.cat([corner, torch.slice(where, -1, 2, 4)], -1), 0., 1.), best, which
