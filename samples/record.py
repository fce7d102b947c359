"""Functions that the samples' scripts share: they save a scripted model, run it, and store its inputs and results beside it.

The keys of the arrays name places: an argument 'x', a part of it 'state.0', the result 'out', 'out.1'.
"""
import os, sys
import numpy as np
import torch


def places(value, name, into):
    """Returns the tensors and numbers in a value, by key."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, (int, float)) for v in value):
        into[name] = np.array(value)
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            places(v, f"{name}.{i}", into)
    elif isinstance(value, dict):
        for key, v in value.items():
            places(v, f"{name}.{key}", into)
    elif isinstance(value, torch.Tensor):
        into[name] = value.detach().numpy()
    else:
        into[name] = np.array(value)
    return into


def record(folder, model, **arguments):
    """Writes model.pt, in.npz, out.npz and, if the model prints, out.txt."""
    folder = os.path.dirname(os.path.abspath(folder))
    model = torch.jit.script(model.eval())
    model.save(os.path.join(folder, "model.pt"))
    inputs = {}
    for name, value in arguments.items():
        places(value, name, inputs)
    np.savez_compressed(os.path.join(folder, "in.npz"), **inputs)
    text = os.path.join(folder, "out.txt")
    screen = os.dup(1)
    sys.stdout.flush()
    os.dup2(os.open(text, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 1)     # TorchScript prints to the descriptor, not to sys.stdout
    with torch.no_grad():
        result = model(**arguments)
    os.dup2(screen, 1)
    if os.path.getsize(text) == 0:
        os.remove(text)
    np.savez_compressed(os.path.join(folder, "out.npz"), **places(result, "out", {}))
