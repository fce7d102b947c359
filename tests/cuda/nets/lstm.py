def forward(x: Tensor) -> Tensor:
  h = torch.zeros([1, 1, 16])
  w = [weight(512, 3, [64, 8]), weight(1024, 5, [64, 16]), weight(64, 7, [64]), weight(64, 9, [64])]
  y, h0, c0 = torch.lstm(x, [h, h], w, True, 1, 0., False, False, True)
  return dense(torch.select(y, 1, -1), 16, 4, 3)
