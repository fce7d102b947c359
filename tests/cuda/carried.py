def forward(image: Tensor) -> Tuple[List[Tensor], Tensor]:
  kept = annotate(List[Tensor], [])
  state = torch.mul(image, 0.)
  go = True
  while go:
    _0 = torch.append(kept, state)
    state = torch.tanh(torch.add(torch.add(state, image), 0.25))
    go = torch.lt(torch.len(kept), 5 + int(torch.gt(torch.sum(state), 1.)))
  return (kept, state)
