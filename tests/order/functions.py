def forward(x):
    y = torch.sigmoid(x) * x + x
    return (y, torch.exp(x) * 0.5, torch.tanh(x) + y, torch.gelu(x) * 2, torch.log(torch.abs(x) + 1), torch.silu(x) * y + x,
            torch.softplus(x) * x + 1, torch.mish(x) * 2, torch.erf(x) * x + y,
            torch.log1p(torch.abs(x)) * 2, torch.log2(torch.abs(x)) + 1, torch.expm1(x) * 2, torch.log10(torch.abs(x)) * x,
            torch.nn.functional.logsigmoid(x) + x, torch.nn.functional.gelu(x, approximate="tanh") * 2, torch.erfc(x) + y)
