def values(image: Tensor, n: int, step: int, dims: List[int]) -> Tensor:
  at = torch.remainder(torch.mul(torch.arange(n), step), 64)
  return torch.reshape(torch.sub(torch.div(torch.index_select(torch.reshape(image, [64]), 0, at), 4.), 2.), dims)

def forward(image: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
  q = values(image, 8400, 7, [2, 3, 70, 20])
  k = values(image, 16800, 11, [2, 3, 140, 20])
  v = values(image, 16800, 13, [2, 3, 140, 20])
  hidden = torch.gt(values(image, 9800, 3, [70, 140]), 1.)
  a = torch.scaled_dot_product_attention(q, k, v, None, 0., False)
  b = torch.scaled_dot_product_attention(k, k, v, None, 0., True)
  c = torch.scaled_dot_product_attention(q, k, v, torch.masked_fill(torch.zeros([70, 140]), hidden, -1000.), 0., False)
  scores = torch.masked_fill(torch.mul(torch.matmul(q, torch.transpose(k, -1, -2)), 0.25), torch.unsqueeze(hidden, 0), -inf)
  d = torch.matmul(torch.softmax(scores, -1), torch.slice(v, -1, 0, 17))
  wide = values(image, 10400, 5, [2, 20, 260])
  e = torch.scaled_dot_product_attention(values(image, 140, 7, [2, 7, 10]), values(image, 400, 11, [2, 20, 10]), wide, torch.slice(torch.slice(torch.masked_fill(torch.zeros([70, 140]), hidden, -inf), 0, 0, 7), 1, 0, 20), 0., False)
  return a, b, c, d, e
