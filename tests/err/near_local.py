def forward(weight: Tensor, bias: Tensor):
    for scale in range(3):
        bias = wieght * scale
    return bias
# ---
# err/near_local.py:3:16: error: undefined value wieght; did you mean weight?
#         bias = wieght * scale
#                ^~~~~~
