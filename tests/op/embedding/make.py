#!/usr/bin/env python3
"""Makes this folder's model: two quantized embeddings, one of rows and one of bags, and PyTorch's answer."""
import os
import numpy as np
import torch
import torch.ao.nn.quantized as nq

HERE = os.path.dirname(os.path.abspath(__file__))


class Embeddings(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.bags = nq.Embedding(10, 12), nq.EmbeddingBag(10, 12, include_last_offset=True)

    def forward(self, i, o, w):
        # type: (Tensor, Tensor, Tensor) -> List[Tensor]
        return [self.rows(i), self.bags(i, o), self.bags(i, o, per_sample_weights=w), self.bags(i.view(2, 4))]


torch.manual_seed(0)
observer = torch.ao.quantization.default_float_qparams_observer()
table = observer(torch.randn(10, 12))
table = torch.quantize_per_channel(table, *observer.calculate_qparams(), 0, torch.quint8)
model = Embeddings().eval()
model.rows.set_weight(table)
model.bags.set_weight(table)
model.bags.include_last_offset = True
inputs = {"i": torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), "o": torch.tensor([0, 4, 4, 8]), "w": torch.rand(8)}
scripted = torch.jit.script(model)
scripted.save(os.path.join(HERE, "model.pt"))
np.savez(os.path.join(HERE, "in.npz"), **{k: v.numpy() for k, v in inputs.items()})
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() for k, v in enumerate(scripted(**inputs))})
