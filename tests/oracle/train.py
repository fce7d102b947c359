#!/usr/bin/python3
"""tests/oracle/train.py - does the training of tests/grad/train_test.py in PyTorch. Prints the first and last loss, and the
number of digits recognised of 100. Then prints AFTER, the results of optimizers with options on a small model"""
import os, sys
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.argv = [sys.argv[0], "kiln", "kiln"]
sys.path.insert(0, os.path.join(HERE, "../grad"))
sys.path.insert(0, os.path.join(HERE, "../program"))
import train_test as t

torch.set_num_threads(1)
pictures, labels = t.glyphs(600)
x, y = torch.tensor(pictures).view(600, 1, 8, 8), torch.tensor(labels)
for how in "sgd", "adam":
    m = torch.jit.load(t.DIGITS)
    for k, v in t.start().items():
        dict(m.named_parameters())[k].data.copy_(torch.tensor(v).view(t.PARAMETERS[k]))
    best = torch.optim.SGD(m.parameters(), 1e-2, 0.9) if how == "sgd" else torch.optim.Adam(m.parameters(), 2e-3)
    losses = []
    for step in range(250):
        at = step % 10 * 50
        best.zero_grad()
        loss = torch.nn.functional.cross_entropy(m.scores(x[at:at + 50]), y[at:at + 50])
        loss.backward()
        best.step()
        losses.append(loss.item())
    print(how, losses[0], losses[-1], int((m.scores(x[500:]).argmax(1) == y[500:]).sum()))

rows = torch.tensor(t.ROWS).view(5, 3)
for _, (name, options) in t.OPTIMIZERS:
    w, losses = torch.arange(6.).view(2, 3).requires_grad_(), []
    best = getattr(torch.optim, name)([w], **options)
    torch.manual_seed(t.SEED)
    for step in range(t.STEPS):
        if step % 2 == 0:
            order = torch.randperm(5)
        y = torch.tanh(rows[order[step % 2 * 2:][:2]] * w)
        loss = (y * (y - rows[order[step % 2 * 2:][:2]])).sum()
        best.zero_grad()
        loss.backward()
        best.step()
        losses.append(loss.item())
    print("    (%s,\n     %s)," % ([round(x, 8) for x in w.flatten().tolist()], [round(x, 8) for x in losses]))
