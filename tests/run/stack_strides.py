# Strides of the results of stack, cat and roll on channels-last tensors.
def forward():
    a = torch.arange(120.).reshape(2, 3, 4, 5)
    x = a.contiguous(memory_format=torch.channels_last)
    v = torch.arange(240.).reshape(2, 3, 2, 4, 5).contiguous(memory_format=torch.channels_last_3d)
    for d in range(5):
        for l in [[x], [x, x], [x, a], [x.transpose(2, 3), x.transpose(2, 3)]]:
            y = torch.stack(l, d)
            print(d, y.stride(), bool((y.select(d, 0) == l[0]).all()), bool((y.select(d, -1) == l[-1]).all()))
    for d in range(6):
        print(torch.stack([v, v], d).stride())
    for d in range(4):
        print(torch.cat([x, x], d).stride(), torch.stack([a.select(d, 0), a.select(d, 0)], d).stride())
    print(x.roll(1, 1).stride(), x.roll([1, 2], [0, 3]).stride(), x.roll(0, 2).stride(), x.roll(1).stride(), bool((x.roll(1, 1) == a.roll(1, 1)).all()))
    a, b = x[:, :2], x[:, 1:]
    for l in [[a, b], [a.relu(), b], [x[:, :, :, ::2], x[:, :, :, ::2]], [x[:, :, :1, :1], x[:, :, :1, :1]], [x[:, :0], x]]:
        print(torch.cat(l, 1).stride(), torch.cat([l[1], l[1]], 2).stride(), torch.stack([l[1], l[1]]).stride())
    e = torch.ones(2, 0, 4)
    print(torch.stack([e, e], 1).stride(), torch.stack([e, e], 3).stride(), torch.stack([a.permute(0, 2, 3, 1), a.permute(0, 2, 3, 1)]).stride())
# ---
# 0 [120, 60, 1, 15, 3] True True
# 0 [120, 60, 1, 15, 3] True True
# 0 [120, 60, 20, 5, 1] True True
# 0 [120, 60, 20, 4, 1] True True
# 1 [60, 3, 1, 15, 3] True True
# 1 [120, 3, 1, 30, 6] True True
# 1 [120, 60, 20, 5, 1] True True
# 1 [120, 60, 20, 4, 1] True True
# 2 [60, 1, 60, 15, 3] True True
# 2 [120, 1, 60, 15, 3] True True
# 2 [120, 40, 20, 5, 1] True True
# 2 [120, 40, 20, 4, 1] True True
# 3 [60, 1, 15, 15, 3] True True
# 3 [120, 1, 30, 15, 3] True True
# 3 [120, 40, 10, 5, 1] True True
# 3 [120, 40, 8, 4, 1] True True
# 4 [60, 20, 5, 1, 1] True True
# 4 [120, 40, 10, 2, 1] True True
# 4 [120, 40, 10, 2, 1] True True
# 4 [120, 40, 8, 2, 1] True True
# [240, 120, 1, 60, 15, 3]
# [240, 3, 1, 120, 30, 6]
# [240, 1, 120, 60, 15, 3]
# [240, 1, 120, 60, 15, 3]
# [240, 1, 120, 30, 15, 3]
# [240, 80, 40, 10, 2, 1]
# [60, 1, 15, 3] [60, 20, 5, 1]
# [120, 1, 30, 6] [40, 20, 5, 1]
# [120, 1, 15, 3] [30, 10, 5, 1]
# [120, 1, 30, 3] [24, 8, 2, 1]
# [60, 1, 15, 3] [60, 1, 15, 3] [60, 20, 5, 1] [60, 20, 5, 1] True
# [80, 1, 20, 4] [80, 1, 10, 2] [80, 40, 1, 10, 2]
# [80, 1, 20, 4] [80, 1, 10, 2] [80, 40, 1, 10, 2]
# [72, 12, 3, 1] [72, 24, 3, 1] [72, 36, 12, 3, 1]
# [6, 1, 6, 6] [6, 1, 3, 3] [6, 3, 1, 3, 3]
# [60, 20, 5, 1] [120, 1, 15, 3] [120, 60, 1, 15, 3]
# [8, 4, 4, 1] [8, 8, 2, 1] [80, 40, 10, 2, 1]
# None
