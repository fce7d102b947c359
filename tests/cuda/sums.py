def weight(n: int, dims: List[int]) -> Tensor:
  return torch.reshape(torch.sub(torch.div(torch.remainder(torch.mul(torch.arange(n), 5), 17), 8.), 1.), dims)

def forward(image: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
  pixels = torch.div(torch.reshape(image, [64]), 16.)
  line = torch.reshape(pixels, [2, 4, 8])
  block = torch.reshape(pixels, [1, 2, 2, 4, 4])
  a = torch.conv1d(line, weight(24, [4, 2, 3]), weight(4, [4]), [2], [2], [2], 2)
  b = torch.conv1d(line, weight(800, [40, 4, 5]), None, [1], [2], [1], 1)
  c = torch.conv3d(block, weight(72, [4, 2, 1, 3, 3]), weight(4, [4]), [1, 2, 1], [1, 0, 2], [1, 1, 2], 1)
  d = torch.conv2d(torch.reshape(pixels, [4, 1, 4, 4]), weight(1, [1, 1, 1, 1]), None, [1, 1], [0, 0], [1, 1], 1)
  e = torch.matmul(torch.reshape(pixels, [64, 1]), weight(70, [1, 70]))
  f = torch.linear(line, weight(8, [1, 8]))
  return a, b, c, d, e, f
