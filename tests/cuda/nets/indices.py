def forward(w: Tensor, i: Tensor, j: Tensor, at: Tensor, cache: Tensor, n: Tensor) -> Tuple[Tensor, Tensor]:
  a = torch.embedding(w, i)
  if bool(torch.gt(torch.sum(a), 0.)):
    b = torch.mul(torch.embedding(w, j), 2.)
  else:
    b = torch.relu(a)
  _0 = torch.index_copy_(cache, 0, at, b)
  _1 = torch.add_(at, 1)
  _2 = torch.index_copy_(cache, 0, at, b)
  c = torch.embedding(w, j)
  z = torch.nonzero(c)
  d = torch.add(c, torch.size(z, 0))
  for k in range(int(n)):
    d = torch.add(d, torch.embedding(w, torch.add(j, k)))
  _3 = torch.index_copy_(cache, 0, at, d)
  return (torch.relu(d), cache)
