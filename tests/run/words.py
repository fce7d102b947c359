# Names that begin like the second half of `not in` and `is not`.
def forward():
    inside, notes = False, 3
    print(not inside, 2 not in [notes], notes is not None)
# ---
# True True True
# None
