"""Converts PyTorch's tensors and NumPy's arrays to DLPack tensors over the same memory, and back.

A kind has `view(array, key)`, which returns the address of a DLTensor, the array whose memory it describes, and an
object that keeps the DLTensor alive. It also has `own(address)`, which returns an array over the memory of a
DLManagedTensor; the array frees that memory at its end. Arrays that Kiln cannot read in place are copied: negative
strides, read-only arrays (a model may write to its arguments), foreign byte orders, lazy conjugates."""
import ctypes as c
import sys
import zipfile

import numpy as np

from . import errors
from .door import CPU, CUDA, DLManagedTensor, DLTensor

_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NUMPY = {(0, 8): "i1", (0, 16): "i2", (0, 32): "i4", (0, 64): "i8", (1, 8): "u1", (1, 16): "u2", (1, 32): "u4", (1, 64): "u8", (2, 16): "f2", (2, 32): "f4",
          (2, 64): "f8", (5, 64): "c8", (5, 128): "c16", (6, 8): "?"}
# names by DLPack's codes
_FLOATS8 = {10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz"}
_LACKING = {4: "bfloat16", **_FLOATS8}


def torch():
    """Returns the module torch if it is imported, else None. Nothing in this file imports it."""
    return sys.modules.get("torch")


def kind_of(value):
    """Returns TORCH or NUMPY. None if the value is no array."""
    found = torch()
    if found is not None and isinstance(value, found.Tensor):
        return TORCH
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__"):
        return NUMPY
    return None


def _filled(array, data, shape, strides, kind, device=(CPU, 0)):
    """Returns the result of view() for an array whose memory is at `data`. kind: DLPack's (code, bits). device: its
    kind and index."""
    n = len(shape)
    sizes = c.c_int64 * n
    tensor = DLTensor(data, *device, n, *kind, 1, sizes(*shape), sizes(*strides), 0)
    return c.addressof(tensor), array, tensor


class Numpy:
    name = "NumPy"

    def view(self, value, key):
        try:
            a = value if isinstance(value, (np.ndarray, np.generic)) else np.from_dlpack(value)
        except (BufferError, TypeError, RuntimeError) as e:
            raise errors.BadArgument("argument '%s' is not in the CPU's memory: %s" % (key, e)) from None
        a = np.asarray(a)                              # converts NumPy's scalars, too
        if a.dtype.kind not in _KINDS or (a.dtype.kind, a.dtype.itemsize) in (("f", 16), ("c", 32)):
            raise errors.BadArgument("argument '%s' is an array of %s: Kiln has no such tensors" % (key, a.dtype))
        if not a.dtype.isnative:
            a = a.astype(a.dtype.newbyteorder("="))
        size = a.itemsize
        if not a.flags.writeable or not a.flags.aligned or any(s < 0 or s % size for s in a.strides):
            a = np.array(a, order="C")
        return _filled(a, a.__array_interface__["data"][0], a.shape, [s // size for s in a.strides],
                       (_KINDS[a.dtype.kind], 8 * size))

    def wrote(self, value, a):
        """Called when the model has written to the memory of view()'s array. Copies the array back if it was a copy of
        the value."""
        if isinstance(value, np.ndarray) and value.flags.writeable and not np.may_share_memory(a, value):
            value[...] = a

    def own(self, taken):
        return np.asarray(_Taken(DLManagedTensor.from_address(taken)))

    def number(self, value):
        return self.numbers(value, type(value))

    def numbers(self, values, kind):
        return np.asarray(values, {bool: "?", int: "i8", float: "f8", complex: "c16"}[kind])

    def empty(self):
        return np.zeros(0, np.float32)

    def dtype(self, a):
        return "bool" if a.dtype.kind == "b" else a.dtype.name


class _Taken:
    """The object that np.asarray keeps as the base of an array over a managed tensor."""

    def __init__(self, taken):
        t = taken.tensor
        shape, kind = t.shape[:t.ndim], _NUMPY.get((t.code, t.bits))
        self._taken = taken
        if not kind:
            raise errors.Unsupported("a result is %s: NumPy has no such arrays; call the model with PyTorch's tensors"
                                     % _LACKING.get(t.code, "complex32"))
        self.__array_interface__ = {"version": 3, "data": (t.data or 1, False), "shape": tuple(shape),
                                    "typestr": "%s%s" % ("<" if t.bits > 8 else "|", kind if kind != "?" else "b1"),
                                    "strides": tuple(s * t.bits // 8 for s in t.strides[:t.ndim])}

    def __del__(self):
        self._taken.deleter(c.byref(self._taken))


class Torch:
    name = "PyTorch"
    _codes = None

    def codes(self):
        if not self._codes:
            t = torch()
            Torch._codes = {t.uint8: (1, 8), t.int8: (0, 8), t.int16: (0, 16), t.int32: (0, 32), t.int64: (0, 64),
                            t.float16: (2, 16), t.float32: (2, 32), t.float64: (2, 64), t.bfloat16: (4, 16),
                            t.complex64: (5, 64), t.complex128: (5, 128), t.bool: (6, 8)}
            later = {"complex32": (5, 32), "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64),
                     **{name: (code, 8) for code, name in _FLOATS8.items()}}
            self._codes.update((getattr(t, name), code) for name, code in later.items() if hasattr(t, name))
        return self._codes

    _direct = None                                     # dtypes for which PyTorch's own capsules can be used

    def direct(self):
        """Returns the dtypes for which PyTorch's capsules have Kiln's codes and the tensor's own strides. Old versions
        describe a bool as a byte, and the stride of a dim of size 1 as 1. Complex dtypes are left out, because
        their tensors may be lazy conjugates."""
        if self._direct is None:
            t, found = torch(), set()
            for dtype, kind in self.codes().items():
                if dtype.is_complex:
                    continue
                try:
                    capsule = t._C._to_dlpack(t.empty_strided((1, 2), (7, 1), dtype=dtype))
                except (RuntimeError, TypeError, AttributeError, BufferError):
                    continue
                made = DLTensor.from_address(_address(capsule, b"dltensor"))
                if (made.code, made.bits) == kind and made.strides[:2] == [7, 1]:
                    found.add(dtype)
            Torch._direct = frozenset(found)
        return self._direct

    def view(self, x, key):
        t = torch()
        if x.dtype in (self._direct or self.direct()) and x.is_cpu and x.layout is t.strided and not x.is_neg() and \
                type(x) in (t.Tensor, t.nn.Parameter):
            capsule = t._C._to_dlpack(x)
            return _address(capsule, b"dltensor"), x, capsule
        return self._checked_view(x, key)

    def _checked_view(self, x, key):
        if x.device.type not in ("cpu", "cuda"):
            raise errors.BadArgument("argument '%s' is on %s: models run on the CPU or on a CUDA device" % (key, x.device))
        if x.layout is not torch().strided or x.is_quantized:
            raise errors.BadArgument("argument '%s' is %s: only dense tensors are taken" % (
                key, "quantized" if x.is_quantized else str(x.layout)))
        found = (self._codes or self.codes()).get(x.dtype)
        if not found:
            raise errors.BadArgument("argument '%s' is %s: Kiln has no such tensors" % (key, x.dtype))
        if x.is_conj() or x.is_neg():
            x = x.resolve_conj().resolve_neg()
        if not x.is_cuda:
            return _filled(x, x.data_ptr(), x.shape, x.stride(), found)
        stream = torch().cuda.current_stream(x.device)
        if stream.cuda_stream:                         # the model's own stream only waits for the default one
            stream.synchronize()
        return _filled(x, x.data_ptr(), x.shape, x.stride(), found, (CUDA, x.device.index))

    def wrote(self, value, x):
        """Called when the model has written to the memory of view()'s tensor. Copies the tensor back if it was a copy
        of the value."""
        t = torch()
        with t.no_grad():
            if x is not value:
                value.copy_(x)
            elif not x.is_inference() and hasattr(t.autograd.graph, "increment_version"):
                t.autograd.graph.increment_version(x)  # counts the write, as PyTorch does

    def version(self, x):
        """Returns a value that changes when the tensor is written to or gets other memory. Writes to its .data do not
        change it."""
        return x.data_ptr(), 0 if x.is_inference() else x._version

    def own(self, taken):
        t = torch()
        if t.bool not in (self._direct or self.direct()):              # DLPack before 0.8 has no bools
            made = DLTensor.from_address(taken)
            if made.code == 6:
                made.code = 1
                return t._C._from_dlpack(_capsule(taken, b"dltensor", None)).view(t.bool)
        return t._C._from_dlpack(_capsule(taken, b"dltensor", None))

    def dtype(self, x):
        return str(x.dtype).rpartition(".")[2]


_capsule = c.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
_address = c.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
NUMPY, TORCH = Numpy(), Torch()


def view(value, key):
    """Returns view() for an array of any kind."""
    return (TORCH if kind_of(value) is TORCH else NUMPY).view(value, key)


def save(path, leaves):
    """Writes an .npz of leaves [(key, array or text or number)], as kiln's commands read it."""
    with zipfile.ZipFile(path, "w") as z:
        for key, value in leaves:
            if kind_of(value) is TORCH:
                value = value.detach().resolve_conj().resolve_neg().contiguous()
                if value.dtype is torch().bfloat16:    # two bytes without a meaning, as in Kiln's files
                    value = value.view(torch().int16).numpy().view("V2")
                elif TORCH.dtype(value) in _FLOATS8.values():
                    value = value.view(torch().uint8).numpy().view([(TORCH.dtype(value), "u1")])
                else:
                    value = value.numpy()
            elif type(value) in (bool, int, float, complex):
                value = NUMPY.number(value)
            with z.open(key + ".npy", "w", force_zip64=True) as f:
                np.lib.format.write_array(f, np.asarray(value), allow_pickle=False)


def copied(t):
    """Returns a NumPy array with a copy of a DLTensor's elements."""
    kind = _NUMPY.get((t.code, t.bits))
    if not kind:
        raise errors.Unsupported("NumPy has no arrays of DLPack's type %d of %d bits" % (t.code, t.bits))
    shape, strides = t.shape[:t.ndim], t.strides[:t.ndim]
    if 0 in shape:
        return np.zeros(shape, kind)
    last = sum((n - 1) * s for n, s in zip(shape, strides)) + 1
    flat = np.frombuffer((c.c_char * (last * t.bits // 8)).from_address(t.data + t.offset), kind)
    return np.lib.stride_tricks.as_strided(flat, shape, [s * t.bits // 8 for s in strides]).copy()
