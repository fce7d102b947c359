def forward():
    for i, x in enumerate([1, 2]):
        print(i, x)
    for i, x in enumerate([1, 2], 5):
        print(i, x)
    for a, b in zip([1, 2], "ab"):
        print(a, b)
    for i in range(5, 0, -2):
        print(i)
    for i, (a, b) in enumerate(zip([1, 2], [3, 4])):
        print(i, a, b)
    i = 0
    while True:
        i += 1
        if i == 3:
            continue
        if i > 5:
            break
        print(i)
    print([i for i in range(3)], list(range(2, 8, 3)), [(a, b) for a, b in zip([1], [2])], [i for i in enumerate([5])])
# ---
# run/loops.py:20:99: error: Cannot re-assign 'i' to a value of type Tuple because i is not a first-class value.  Only reassignments to first-class values are allowed
#     print([i for i in range(3)], list(range(2, 8, 3)), [(a, b) for a, b in zip([1], [2])], [i for i in enumerate([5])])
#                                                                                                   ^
