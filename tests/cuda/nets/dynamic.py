def forward(x: Tensor, i: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    w = torch.sin(torch.arange(144, dtype=torch.float)).reshape([4, 4, 3, 3])
    p = torch.cos(torch.arange(96, dtype=torch.float)).reshape([16, 6])
    c = torch.relu(torch.conv2d(x, w, None, [1, 1], [1, 1]) + x)
    rows = c.mean(1).softmax(2)
    joined = torch.cat([rows, rows * 2, c.select(1, 0)], 1)
    ordered, at = torch.median(torch.cumsum(joined, 1), 1, True)
    chosen = joined.index_select(1, i)
    best = torch.argmax(joined, 2, True).to(torch.float) + ordered
    small = torch._upsample_bicubic2d_aa(torch.upsample_bilinear2d(c, [2 * x.size(2), 7], False), [5, x.size(2) + 1], False)
    near = torch.upsample_nearest2d(small, [3, 2 * x.size(2)])
    grid = torch.tanh(torch.slice(c, 1, 0, 2)).permute([0, 2, 3, 1])
    return torch.matmul(chosen.transpose(1, 2), chosen), torch.matmul(best, p), torch.grid_sampler(near, grid, 0, 0, False)
