def forward(x: Tensor):
    return x.to(torch.folat32)
# ---
# err/near_dtype.py:2:17: error: Unknown builtin op: aten::folat32; did you mean float32?
#     return x.to(torch.folat32)
#                 ^~~~~~~~~~~~~
