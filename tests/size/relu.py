def forward(x: Tensor) -> Tensor:
    return torch.relu(x)
