def scaled(x: Tensor) -> List[Tensor]:
  return [torch.upsample_nearest2d(x, [7, 5]), torch.upsample_nearest2d(x, [8, 16], 2., 2.), torch._upsample_nearest_exact2d(x, [3, 13]),
          torch.upsample_nearest2d(torch.to(x, 7), [5, 9]), torch.upsample_bilinear2d(x, [7, 5], False), torch.upsample_bilinear2d(x, [9, 16], True),
          torch.upsample_bilinear2d(x, [8, 16], False, 2.1, 2.2), torch.upsample_bilinear2d(x, [4, 8], False, 0.7, 0.9), torch.upsample_bilinear2d(x, [1, 1], True),
          torch.upsample_bicubic2d(x, [7, 5], False), torch.upsample_bicubic2d(x, [9, 17], True), torch.upsample_bicubic2d(torch.to(x, 7), [8, 16], False, 2., 2.)]

def smooth(x: Tensor) -> List[Tensor]:
  return [torch._upsample_bilinear2d_aa(x, [2, 3], False), torch._upsample_bilinear2d_aa(x, [9, 5], True), torch._upsample_bicubic2d_aa(x, [3, 3], False),
          torch._upsample_bicubic2d_aa(torch.to(x, 7), [2, 11], False), torch._upsample_bicubic2d_aa(x, [1, 1], False, 0.3, 0.2), torch._upsample_lanczos2d_aa(x, [3, 5], False), torch._upsample_lanczos2d_aa(torch.to(x, 15), [9, 2], False)]

def halves(x: Tensor) -> List[Tensor]:
  return [torch.upsample_nearest2d(torch.to(x, 5), [7, 5]), torch.upsample_bilinear2d(torch.to(x, 15), [7, 5], False), torch.upsample_bicubic2d(torch.to(x, 5), [3, 11], False)]

def sampled(x: Tensor, grid: Tensor) -> List[Tensor]:
  last = torch.contiguous(torch.permute(x, [0, 2, 3, 1]))
  made = torch.jit.annotate(List[Tensor], [])
  for mode in [0, 1, 2]:
    for padding in [0, 1, 2]:
      made.append(torch.grid_sampler(x, grid, mode, padding, False))
      made.append(torch.grid_sampler(torch.permute(last, [0, 3, 1, 2]), grid, mode, padding, True))
  made.append(torch.grid_sampler(torch.to(x, 7), torch.to(grid, 7), 2, 2, False))
  return made

def forward(image: Tensor) -> Tuple[List[Tensor], List[Tensor], List[Tensor], List[Tensor], List[Tensor], List[Tensor]]:
  pixels = torch.div(torch.reshape(image, [64]), 16.)
  x = torch.reshape(pixels, [1, 2, 4, 8])
  grid = torch.sub(torch.mul(torch.reshape(torch.div(torch.to(torch.remainder(torch.mul(torch.arange(60), 7), 23), 6), 22.), [1, 5, 6, 2]), 3.), 1.5)
  odd = torch.index_fill(grid, 1, torch.tensor([2]), float('nan'))
  volume = torch.reshape(pixels, [1, 2, 2, 4, 4])
  points = torch.sub(torch.mul(torch.reshape(torch.div(torch.to(torch.remainder(torch.mul(torch.arange(90), 7), 29), 6), 28.), [1, 2, 3, 5, 3]), 3.), 1.5)
  volumes = [torch.grid_sampler(volume, points, 0, 0, False), torch.grid_sampler(volume, points, 0, 1, True), torch.grid_sampler(volume, points, 0, 2, False),
             torch.grid_sampler(volume, points, 1, 2, True), torch.grid_sampler(volume, points, 1, 0, False)]
  rois = torch.tensor([[0., 0.5, 0.25, 6.5, 3.5], [0., -1., -2., 9., 7.], [0., 3., 2., 3., 2.], [0., 5., 3., 2., 1.]])
  regions = [ops.torchvision.roi_align(x, rois, 1., 2, 3, 2, True), ops.torchvision.roi_align(x, rois, 0.5, 3, 2, 0, False),
             ops.torchvision.roi_align(torch.to(x, 7), torch.to(rois, 7), 0.8, 2, 2, -1, True), ops.torchvision.roi_align(x, rois, 1., 1, 1, 0, True)]
  other = [torch.upsample_nearest1d(torch.reshape(pixels, [2, 4, 8]), [13]), torch.upsample_linear1d(torch.reshape(pixels, [2, 4, 8]), [13], False),
           torch.upsample_nearest3d(volume, [3, 5, 7]), torch.upsample_trilinear3d(volume, [3, 5, 7], True)]
  return scaled(x) + halves(x), smooth(x), sampled(x, grid), volumes + [torch.grid_sampler(x, odd, 0, 0, False), torch.grid_sampler(x, odd, 1, 1, False), torch.grid_sampler(x, odd, 2, 2, True)], regions, other
