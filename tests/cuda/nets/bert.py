def forward(tokens: Tensor, mask: Tensor) -> Tensor:
  n = torch.size(tokens, 1)
  at = torch.unsqueeze(torch.arange(n), 0)
  x = torch.add(torch.embedding(weight(1600, 3, [50, 32]), tokens), torch.embedding(weight(1024, 5, [32, 32]), at))
  y = torch.layer_norm(x, [32], weight(32, 3, [32]), weight(32, 5, [32]), 1.0000000000000001e-05, True)
  hidden = torch.mul(torch.rsub(torch.to(torch.unsqueeze(torch.unsqueeze(mask, 1), 1), 6), 1.), -1000.)
  h = encoder(encoder(y, n, hidden), n, hidden)
  return torch.tanh(dense(torch.select(h, 1, 0), 32, 32, 3))
