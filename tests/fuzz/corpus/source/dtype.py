def forward(x: Tensor):
    return x + torch.zeros(2, 3, dtype=torch.float*64).sum()
