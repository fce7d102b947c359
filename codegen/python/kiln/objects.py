"""Handles Python objects with tensors in their attributes that PyTorch's pytree takes for leaves, such as a decoder's
caches.

A value is split into a simple form and a skeleton. In the simple form, each such object is a dict of its tensors and
numbers. In the skeleton, these are left out. Both together give the value again."""
import copy

import torch
from torch.utils import _pytree as pytree

_HELD = (torch.Tensor, int, float, torch.SymInt, torch.SymFloat)
_PLAIN = (*_HELD, str, bytes, complex, type, torch.dtype, torch.device, torch.nn.Module)
DEEP = 12                                              # largest depth of objects inside of objects


def _is_object(value):
    return value is not None and not isinstance(value, _PLAIN) and hasattr(value, "__dict__") and _has_tensor(value)


def _has_tensor(value, depth=0):
    return depth < DEEP and any(isinstance(leaf, torch.Tensor) or (
        not isinstance(leaf, _PLAIN) and any(_has_tensor(v, depth + 1) for v in getattr(leaf, "__dict__", {}).values()))
        for leaf in pytree.tree_leaves(value))


def _holds(value):
    return any((isinstance(leaf, _HELD) and not isinstance(leaf, bool)) or _is_object(leaf)
               for leaf in pytree.tree_leaves(value))


def any_in(value):
    """Whether the value contains such an object."""
    return any(map(_is_object, pytree.tree_leaves(value)))


def _mapped(value, leaf):
    leaves, spec = pytree.tree_flatten(value)
    return pytree.tree_unflatten(map(leaf, leaves), spec)


def simple(value):
    """Returns the simple form."""
    return _mapped(value, lambda v: {k: simple(held) for k, held in vars(v).items() if _holds(held)}
                   if _is_object(v) else v)


def skeleton(value):
    """Returns the skeleton. Each tensor and number is replaced by 0."""
    def leaf(v):
        if not _is_object(v):
            return 0 if isinstance(v, _HELD) else v
        made = copy.copy(v)
        vars(made).update({k: skeleton(held) for k, held in vars(v).items() if _holds(held)})
        return made
    return _mapped(value, leaf)


def whole(simple_form, skeleton_of_it):
    """Returns the value."""
    leaves, spec = pytree.tree_flatten(skeleton_of_it)

    def leaf(part, bone):
        if isinstance(bone, _PLAIN) or bone is None or not isinstance(part, dict):
            return part
        made = copy.copy(bone)
        vars(made).update({k: whole(held, vars(bone)[k]) for k, held in part.items()})
        return made
    return pytree.tree_unflatten(map(leaf, spec.flatten_up_to(simple_form), leaves), spec)
