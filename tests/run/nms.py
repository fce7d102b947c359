def kept(boxes: Tensor, scores: Tensor, most: float) -> Tensor:
    _, order = torch.sort(scores, stable=True, dim=0, descending=True)
    b = boxes[order]
    sides = torch.minimum(b[:, None, 2:], b[None, :, 2:]) - torch.maximum(b[:, None, :2], b[None, :, :2])
    sides = torch.clamp(sides, min=0.)
    both, area = sides[:, :, 0] * sides[:, :, 1], (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    over = both / (area[:, None] + area[None] - both) > most
    stays = torch.ones_like(order)
    for i in range(order.size(0)):
        if bool(stays[i]):
            stays[i + 1:] = torch.where(over[i, i + 1:], torch.zeros_like(stays[i + 1:]), stays[i + 1:])
    return order[stays > 0]

def forward():
    n = 700
    at = torch.sin(torch.arange(2 * n) * 37.).reshape(n, 2) * 30
    boxes = torch.cat([at, at + torch.abs(torch.cos(torch.arange(2 * n) * 11.)).reshape(n, 2) * 12], 1)
    whole = boxes.clone()
    whole[30, 2], whole[31, 0], whole[32, 2] = whole[30, 0] - 3., -float("inf"), float("inf")
    whole[33:35, 1], whole[36] = float("nan"), whole[35]
    boxes[5, 2], boxes[300, 1], boxes[17] = float("nan"), -float("inf"), boxes[16]
    boxes[40, 2:] = boxes[40, :2]
    boxes[41] = boxes[40]
    scores = torch.round(torch.cos(torch.arange(n) * 5.) * 50)
    for few in [0, 1, 255, 256, 257, 258, n]:
        for most in [-1., 0., 0.1, 0.45, 1., float("nan")]:
            for b in [boxes[:few], boxes[:few].double(), whole[:few]]:
                mine, right = torch.ops.torchvision.nms(b, scores[:few], most), kept(b, scores[:few], most)
                if not torch.equal(mine, right):
                    print(few, most, mine, right)
    print(torch.ops.torchvision.nms(boxes, scores, 0.1).size(0), torch.ops.torchvision.nms(boxes, scores, -1.).size(0))
# ---
# 62 2
# None
