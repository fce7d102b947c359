def forward(x: Tensor):
    return x.shap
# ---
# err/near_field.py:2:12: error: 'Tensor' object has no attribute or method 'shap'; did you mean shape?
#     return x.shap
#            ^~~~~~
