# Several launches write the operands of a cat, and the host reads the whole.
def forward(x: Tensor) -> Tensor:
    parts = [torch.softmax(x, 1), torch.softmax(x * 2, 1), torch.layer_norm(x, [16])]
    joined = torch.cat(parts, 0)
    return torch.cdist(joined, joined)
