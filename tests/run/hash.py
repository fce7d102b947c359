def forward():
    print(hash(1), hash(1.5), hash(0.0), hash("abc"), hash(""), hash(True), hash((1, 2)), hash((1, "a", 2.5)))
    print(hash(torch.device("cpu")), hash(torch.device("cuda:1")), hash((1,)), hash(((1, 2), 3)), hash(-5), hash("longer than eight"))
# ---
# 1 4982507072649106663 0 3663726644998027833 6142509188972423790 1 175247769363 -6662071034242836129
# 255 65537 2654435770 11323814740515 -5 6741739171840133008
# None
