def norm(x: Tensor) -> Tensor:
  return torch.mul(torch.mul(x, torch.rsqrt(torch.add(torch.mean(torch.pow(x, 2.), [-1], True), 1.0000000000000001e-05))), weight(32, 3, [32]))

def turn(x: Tensor, at: Tensor) -> Tensor:
  angle = torch.mul(torch.to(at, 6), weight(4, 5, [4]))
  c = torch.cat([torch.cos(angle), torch.cos(angle)], -1)
  s = torch.cat([torch.sin(angle), torch.sin(angle)], -1)
  half = torch.cat([torch.neg(torch.slice(x, -1, 4, 8)), torch.slice(x, -1, 0, 4)], -1)
  return torch.add(torch.mul(x, c), torch.mul(half, s))

def part(x: Tensor, n: int, step: int) -> Tensor:
  return torch.transpose(torch.reshape(torch.linear(x, weight(256 * n, step, [8 * n, 32])), [1, 1, n, 8]), 1, 2)

def layer(x: Tensor, keys: Tensor, values: Tensor, at: Tensor) -> Tensor:
  h = norm(x)
  _0 = torch.index_copy_(keys, 2, at, turn(part(h, 2, 7), at))
  _1 = torch.index_copy_(values, 2, at, part(h, 2, 9))
  hidden = torch.masked_fill(torch.zeros([1, 16]), torch.gt(torch.arange(16), at), -inf)
  a = torch.scaled_dot_product_attention(turn(part(h, 4, 5), at), torch.repeat_interleave(keys, 2, 1), torch.repeat_interleave(values, 2, 1), hidden, 0., False)
  y = torch.add(x, torch.linear(torch.reshape(torch.transpose(a, 1, 2), [1, 1, 32]), weight(1024, 11, [32, 32])))
  h0 = norm(y)
  up = torch.mul(torch.silu(torch.linear(h0, weight(2048, 5, [64, 32]))), torch.linear(h0, weight(2048, 3, [64, 32])))
  return torch.add(y, torch.linear(up, weight(2048, 7, [32, 64])))

def forward(token: Tensor, at: Tensor, keys: List[Tensor], values: List[Tensor]) -> Tensor:
  x = torch.embedding(weight(512, 3, [16, 32]), token)
  y = layer(layer(x, keys[0], values[0], at), keys[1], values[1], at)
  return torch.linear(norm(y), weight(512, 5, [16, 32]))
