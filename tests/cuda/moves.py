def forward(image: Tensor) -> Tuple[List[Tensor], List[Tensor], List[Tensor], List[Tensor], List[Tensor], Tensor]:
  pixels = torch.div(torch.reshape(image, [64]), 16.)
  a = torch.reshape(pixels, [2, 4, 8])
  b = torch.mul(a, 2.)
  at = torch.remainder(torch.mul(torch.arange(24), 7), 8)
  rows = torch.remainder(torch.reshape(at, [4, 6]), 4)
  moved = [torch.cat([a, b, a], 1), torch.stack([a, b], -1), torch.stack([a, b, a, b], 0), torch.roll(a, [1, 3], [1, 2]),
           torch.flip(a, [0, 2]), torch.repeat(a, [2, 1, 3]), torch.constant_pad_nd(a, [1, 2, 0, 1], 0.5),
           torch.contiguous(torch.permute(a, [2, 0, 1])), torch.to(b, 7), torch.tril(torch.select(a, 0, 0)), torch.reflection_pad1d(a, [2, 3])]
  taken = [torch.embedding(torch.reshape(pixels, [8, 8]), at), torch.index_select(a, 2, at), torch.gather(a, 1, torch.expand(torch.reshape(torch.remainder(at, 4), [1, 3, 8]), [2, 3, 8])),
           torch.index(a, [None, rows]), torch.index(a, [torch.sub(torch.remainder(at, 2), 1), None, at])]
  base = torch.zeros([8, 6])
  source = torch.slice(torch.reshape(torch.repeat(pixels, [3]), [24, 8]), 1, 0, 6)
  joined = [torch.index_add(base, 0, at, source), torch.scatter_add(base, 0, torch.expand(torch.unsqueeze(at, 1), [24, 6]), source),
            torch.index_copy(base, 0, torch.arange(3), torch.slice(source, 0, 0, 3)), torch.index_fill(base, 1, torch.arange(2), 1.5),
            torch.index_put(base, [at], source, True), torch.scatter(base, 1, rows, 2.)]
  x = torch.reshape(pixels, [1, 2, 4, 8])
  other = [torch.bmm(a, torch.transpose(b, 1, 2)), torch.matmul(torch.reshape(pixels, [2, 2, 4, 4]), torch.reshape(pixels, [2, 1, 4, 8])),
           torch.max_pool2d(x, [2, 3], [1, 2], [1, 1], [1, 2], True), torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, True),
           torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, False), torch.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 3),
           torch.adaptive_avg_pool2d(x, [2, 4]), torch.adaptive_avg_pool2d(x, [3, 5]), torch.avg_pool1d(a, [3], [2], [1]),
           torch.abs(torch.mul(torch.complex(a, b), torch.complex(b, a))), torch.softmax(torch.cat([a, b], 2), 1), (torch.topk(a, 3))[0]]
  highest, where = torch.cummax(torch.remainder(torch.mul(a, 9), 4), 1)
  scans = [torch.cumsum(a, 2), torch.cumsum(torch.to(pixels, 5), 0), torch.cumprod(torch.to(b, 7), 0), torch.logcumsumexp(a, 1), highest,
           torch.cumsum(where, 0, dtype=3), (torch.cummin(torch.transpose(a, 0, 2), -1))[0]]
  bags = torch.tensor([0, 3, 3, 20])
  table = torch.reshape(pixels, [8, 8])
  scans = torch.add(scans, [(torch.embedding_bag(table, at, bags, False, 1, False, None, False, 3))[0], (torch.embedding_bag(table, at, bags, False, 2))[0],
                            (torch.embedding_bag(table, at, bags, False, 0, False, torch.to(at, 6)))[0]])
  ordered, order = torch.sort(torch.remainder(torch.mul(a, 37), 11), 1, True)
  scans = torch.add(scans, [ordered, torch.argsort(pixels, stable=True)])
  torch.copy_(torch.slice(base, 1, 0, 2), torch.slice(torch.slice(source, 0, 0, 8), 1, 2, 4))
  return moved, taken, joined, scans, other, base
