def forward(x: Tensor) -> Tensor:
    w = torch.sin(torch.arange(64, dtype=torch.float)).reshape([4, 16])
    v = torch.cos(torch.arange(48, dtype=torch.float)).reshape([16, 3])
    return torch.addmm(torch.ones([3]), torch.relu(torch.addmm(torch.ones([16]), x, w)), v)
