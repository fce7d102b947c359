def f():
    a = 1
    b = 2
    a, b += 1
# ---
# err/augmented_two.py:4:5: error: augmented assignment can only have one LHS expression
#     a, b += 1
#     ^~~~
