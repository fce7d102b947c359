"""Kiln: an ahead-of-time compiler for models of PyTorch.

    model = kiln.compile(module, (x,))         # a module, a function, or a path of a .pt or .pt2 archive
    y = model(x)                               # tensors in, tensors out; NumPy in, NumPy out

    @kiln.jit                                  # a function that is compiled behind its first calls
    torch.compile(module, backend="kiln")      # graphs of PyTorch's own compiler

`python -m kiln` is the command line."""
from .cache import clear as clear_cache
from .commands import bench, check
from .errors import (BadArgument, BadOption, Busy, CompileError, GuardFailed, InternalError, KilnError, ModelRaised,
                     OutOfMemory, SizeMismatch, Unsupported)
from .jit import jit
from .model import Model, compile

__version__ = "0.1"
__all__ = ["BadArgument", "BadOption", "Busy", "CompileError", "GuardFailed", "InternalError", "KilnError", "Model",
           "ModelRaised", "OutOfMemory", "SizeMismatch", "Unsupported", "bench", "check", "clear_cache", "compile",
           "jit"]
