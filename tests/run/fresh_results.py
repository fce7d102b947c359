# Operators that move or copy elements return memory of their own even if nothing moves. Memory formats of results.
def written(x: Tensor, y: Tensor):
    z = x.clone()
    y.fill_(7)
    print(torch.equal(x, z), y.is_contiguous())

def forward():
    x = torch.arange(48.).view([2, 4, 3, 2])
    for f in range(2):
        written(x, torch.pixel_shuffle(x, 1))
        written(x, torch.pixel_unshuffle(x, 1))
        written(x, torch.channel_shuffle(x, 1))
        written(x, torch.native_dropout(x, 0.5, False)[0])
        x = x.to(memory_format=torch.channels_last)
    a = torch.arange(12.).view([3, 1, 2, 2])[:, :, 0:1, 0:1]
    written(a, torch.pixel_shuffle(a, 1))
    b = torch.arange(4.).view([4, 1, 1])
    written(b, torch.pixel_shuffle(b, 2))
    m = torch.arange(4.).view([2, 2])
    written(m, torch.matrix_power(m, 1))
    written(m, torch.chain_matmul([m]))
    for y in [x, x[:, :, 0:2], x[:, :, :, 0:1], x.contiguous()]:
        print(torch.channel_shuffle(y, 2).stride(), torch.pixel_shuffle(y, 2).stride(), y.double().stride())
    print(torch.pixel_unshuffle(x[:, :, 0:2], 2).stride(), torch.channel_shuffle(x, 2).flatten()[5:9])
# ---
# True True
# True True
# True True
# True True
# True False
# True False
# True False
# True False
# True True
# True True
# True True
# True True
# [24, 1, 8, 4] [24, 1, 4, 1] [24, 1, 8, 4]
# [16, 1, 8, 4] [16, 1, 4, 1] [16, 1, 8, 4]
# [12, 1, 4, 4] [12, 1, 2, 1] [12, 1, 4, 4]
# [24, 6, 2, 1] [24, 24, 4, 1] [24, 6, 2, 1]
# [16, 1, 16, 16]   5
#  12
#  13
#  14
# [ CPUFloatType{4} ]
# None
