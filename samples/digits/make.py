#!/usr/bin/env python3
"""A small convolutional net that reads handwritten digits, trained here on real ones: make.py digits.csv.gz

The file is scikit-learn's sklearn/datasets/data/digits.csv.gz: 1797 digits of 8x8 pixels by 43 people, from "Optical
Recognition of Handwritten Digits" of the UCI machine learning repository (CC BY 4.0).  The last 297 are kept for the
test; the sample's input is the first of them.
"""
import os, sys
import numpy as np
import torch
from torch import Tensor, nn
import torch.nn.functional as F

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from record import record


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2))
        self.drop = nn.Dropout(0.3)
        self.linear = nn.Linear(32 * 4 * 4, 10)
        self.ink = ["  ", "..", "::", "**", "##"]

    def scores(self, images: Tensor) -> Tensor:
        return self.linear(self.drop(self.features(images / 16).flatten(1)))

    def forward(self, image: Tensor):
        """Maps a picture of 8x8 pixels from 0 to 16 to the probability of each digit. Prints the most probable digit."""
        if image.dim() != 2:
            raise ValueError("one picture is wanted")
        p = F.softmax(self.scores(image[None, None]), dim=1)[0]
        digit = int(p.argmax())
        for row in image:
            line = ""
            for pixel in row:
                line += self.ink[int(pixel) // 4]
            print(line)
        print("this is a", digit)
        return p


torch.manual_seed(2)
torch.set_num_threads(1)
table = np.loadtxt(sys.argv[1], delimiter=",", dtype=np.float32)
images, labels = torch.tensor(table[:, :-1]).view(-1, 1, 8, 8), torch.tensor(table[:, -1]).long()
model = Digits()
best = torch.optim.Adam(model.parameters(), 2e-3, weight_decay=1e-4)
for epoch in range(20):
    for part in torch.randperm(1500).split(50):
        best.zero_grad()
        F.cross_entropy(model.scores(images[part]), labels[part]).backward()
        best.step()
model.eval()
right = (model.scores(images[1500:]).argmax(1) == labels[1500:]).sum().item()
print(f"{right} of 297 digits that it has not seen are right; the first of them is a {labels[1500]}")
record(__file__, model, image=images[1500, 0])
