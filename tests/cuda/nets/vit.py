def forward(x: Tensor) -> Tensor:
  patches = torch.conv2d(x, weight(1536, 5, [32, 3, 4, 4]), weight(32, 3, [32]), [4, 4])
  y = torch.transpose(torch.flatten(patches, 2, -1), 1, 2)
  z = torch.add(torch.cat([weight(32, 7, [1, 1, 32]), y], 1), weight(544, 5, [1, 17, 32]))
  h = encoder(encoder(z, 17, None), 17, None)
  return dense(torch.select(h, 1, 0), 32, 10, 3)
