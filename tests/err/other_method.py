def forward(d: Dict[int, str]):
    d.add(1)
# ---
# err/other_method.py:2:5: error: 'Dict[int, str]' object has no attribute or method 'add'.
#     d.add(1)
#     ^~~~~
