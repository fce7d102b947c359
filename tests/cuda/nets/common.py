def weight(n: int, step: int, dims: List[int]) -> Tensor:
  return torch.reshape(torch.div(torch.sub(torch.remainder(torch.mul(torch.arange(n), step), 17), 8.), 32.), dims)

def dense(x: Tensor, inputs: int, outputs: int, step: int) -> Tensor:
  return torch.linear(x, weight(inputs * outputs, step, [outputs, inputs]), weight(outputs, step + 2, [outputs]))

def conv(x: Tensor, inputs: int, outputs: int, size: int, stride: int, groups: int) -> Tensor:
  w = weight(outputs * inputs * size * size, 5 + size, [outputs, inputs, size, size])
  y = torch.conv2d(x, w, None, [stride, stride], [size // 2, size // 2], [1, 1], groups)
  one = weight(outputs, 3, [outputs])
  return torch.batch_norm(y, torch.add(one, 1.), one, one, torch.add(one, 2.), False, 0.1, 1.0000000000000001e-05, True)

def heads(x: Tensor, n: int, step: int) -> Tensor:
  return torch.transpose(torch.reshape(dense(x, 32, 32, step), [-1, n, 4, 8]), 1, 2)

def encoder(x: Tensor, n: int, hidden: Optional[Tensor]) -> Tensor:
  a = torch.scaled_dot_product_attention(heads(x, n, 3), heads(x, n, 5), heads(x, n, 7), hidden, 0., False)
  y = torch.add(x, dense(torch.reshape(torch.transpose(a, 1, 2), [-1, n, 32]), 32, 32, 9))
  h = torch.layer_norm(y, [32], weight(32, 3, [32]), weight(32, 5, [32]), 1.0000000000000001e-05, True)
  return torch.layer_norm(torch.add(h, dense(torch.gelu(dense(h, 32, 64, 11)), 64, 32, 13)), [32], None, None, 1.0000000000000001e-05, True)

