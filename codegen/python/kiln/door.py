"""Calls a compiled library through ctypes, by the functions of its header NAME.h (rt/name.h)."""
import ctypes as c
import os
import sys
import threading
import weakref

from . import errors

NAME = "kiln_model"    # prefix of the functions in every library that this package makes
OK, RAISED, ARGUMENT, SIZE, GUARD, MEMORY, BUSY, UNSUPPORTED = range(8)
CPU, CUDA, TEXT = 1, 2, 255                            # DLPack's devices; type code of a leaf that is a text


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


class DLManagedTensor(c.Structure):
    pass


_DELETER = c.CFUNCTYPE(None, c.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", c.c_void_p), ("deleter", _DELETER)]


class _Leaf(c.Structure):
    _fields_ = [("key", c.c_char_p), ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("ndim", c.c_int),
                ("shape", c.POINTER(c.c_int64))]


_SAY = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(c.c_char), c.c_size_t)


class _Options(c.Structure):
    _fields_ = [("threads", c.c_int), ("parallel", c.c_void_p), ("pool", c.c_void_p), ("print", _SAY), ("warn", _SAY),
                ("arg", c.c_void_p), ("seed", c.c_uint64), ("seeded", c.c_int), ("device", c.c_char_p),
                ("weights_file", c.c_char_p), ("weights", c.c_void_p), ("weights_bytes", c.c_size_t),
                ("strict", c.c_int), ("device_index", c.c_int), ("stream", c.c_void_p),
                ("device_results", c.c_int)]


# Result and arguments of each function, by name. Functions in _SHORT run without releasing the GIL.
_FUNCTIONS = {
    "open": (c.c_void_p, [c.POINTER(_Options), c.c_char_p, c.c_size_t]), "close": (None, [c.c_void_p]),
    "reset": (c.c_int, [c.c_void_p]), "error": (c.c_char_p, [c.c_void_p]),
    "inputs": (c.c_int, [c.c_char_p, c.POINTER(c.POINTER(_Leaf))]),
    "call": (c.c_int, [c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.c_int, c.c_void_p, c.c_int]),
    "set": (c.c_int, [c.c_void_p, c.c_char_p, c.c_void_p]), "set_text": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p]),
    "results": (c.c_int, [c.c_void_p]), "result": (c.c_int, [c.c_void_p, c.c_int, c.c_void_p, c.c_void_p]),
    "result_text": (c.c_char_p, [c.c_void_p, c.c_int]), "result_none": (c.c_char_p, [c.c_void_p, c.c_int, c.c_void_p]),
    "result_take": (c.c_void_p, [c.c_void_p, c.c_int]),
    "state_get": (c.c_int, [c.c_void_p, c.c_char_p, c.c_void_p]),
    "state_set": (c.c_int, [c.c_void_p, c.c_char_p, c.c_void_p]),
}
_SHORT = {"inputs", "error", "set", "set_text", "results", "result", "result_text", "result_none", "result_take"}


@_SAY
def _print(arg, text, n):
    sys.stdout.write(c.string_at(text, n).decode(errors="replace"))


@_SAY
def _warn(arg, text, n):
    errors.warn(c.string_at(text, n).decode(errors="replace").rstrip("\n"))


class Library:
    """The functions of a library, without their prefix: call, set ..."""

    def __init__(self, path):
        self.path = path
        long, short = c.CDLL(path), c.PyDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(short if name in _SHORT else long, "%s_%s" % (NAME, name))
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def inputs(self, method):    # replaced by a cached function for each object; defined here for its type
        raise NotImplementedError

    def keys(self, method):
        """Returns the keys of a method's arguments, in the order in which `call` takes them."""
        leaves = c.POINTER(_Leaf)()
        n = self.inputs(method.encode(), c.byref(leaves))
        return [leaves[i].key.decode(errors="surrogateescape") for i in range(max(n, 0))]


_locked = weakref.WeakSet()


class Locked:
    """An object with a `_lock`. A forked child gets a new lock, because the thread that held it exists only in the
    parent."""

    def __init__(self):
        self._lock = threading.RLock()
        _locked.add(self)


def _unlock():
    for one in list(_locked):
        one._lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


class _Libraries(Locked):
    def __init__(self):
        super().__init__()
        self.by_path = {}


_libraries = _Libraries()


def load(path):
    """Loads the library in that file. Returns the same object for the same file."""
    path = os.path.realpath(path)
    with _libraries._lock:
        loaded = _libraries.by_path
        if path not in loaded:
            try:
                loaded[path] = Library(path)
            except OSError as e:
                raise errors.CompileError("%s cannot be loaded: %s" % (path, e)) from None
        return loaded[path]


class Instance:
    """A model with its own state. It must not be called by several threads at once; Model prevents that."""

    def __init__(self, library, weights=None, threads=1, seed=None, strict=False, device=None):
        """weights: file of the weights, if they are not in the library. device: cpu, cuda or cuda:1."""
        why = c.create_string_buffer(1024)
        options = _Options(threads=threads, print=_print, warn=_warn, seed=seed or 0, seeded=seed is not None,
                           strict=strict, weights_file=weights and os.fsencode(weights),
                           device=device and str(device).encode())
        self.library, self.process, self.places = library, os.getpid(), {}
        self.at = c.c_void_p(library.open(c.byref(options), why, len(why)))
        if not self.at:
            raise errors.KilnError(why.value.decode(errors="replace"))

    def __del__(self):
        if getattr(self, "at", None) and self.process == os.getpid():
            self.library.close(self.at)

    def check(self, status):
        if not status:
            return
        text = (self.library.error(self.at) or b"").decode(errors="replace")
        if status == RAISED:
            raise errors.raised(text)
        if status == BUSY:
            raise errors.Busy("the model is in a call: what it prints or warns with may not call it")
        kinds = {ARGUMENT: errors.BadArgument, SIZE: errors.SizeMismatch, GUARD: errors.GuardFailed,
                 MEMORY: errors.OutOfMemory, UNSUPPORTED: errors.Unsupported}
        raise kinds.get(status, errors.InternalError)(text)

    def call(self, method, leaves):
        """Calls a method. leaves: [(key, text or address of a DLTensor)], whose memory the caller keeps until this
        returns. The results are available by take()."""
        found = self.places.get(method)
        if not found:
            keys = self.library.keys(method)
            found = self.places[method] = (
                {key: i for i, key in enumerate(keys)}, c.c_void_p * max(len(keys), 1), method.encode())
        places, kind, name = found
        given = kind()
        for key, leaf in leaves:
            if isinstance(leaf, str):
                self.check(self.library.set_text(self.at, key.encode(), leaf.encode()))
            elif key in places:
                given[places[key]] = leaf
            else:
                self.check(self.library.set(self.at, key.encode(), leaf))
        self.check(self.library.call(self.at, name, given, len(places), None, 0))

    def take(self, tensor_of):
        """Returns the last call's results by key: texts, None, and tensor_of(address of a DLManagedTensor). tensor_of
        must free the managed tensor."""
        key, t, results, library = c.c_char_p(), DLTensor(), {}, self.library
        n, nones = library.results(self.at), self._nones()
        for i in range(n + 1):
            results.update((none, None) for none, before in nones if before == i)
            if i == n:
                return results
            self.check(library.result(self.at, i, c.byref(key), c.byref(t)))
            name = key.value.decode()
            if not t.lanes:                            # a text
                results[name] = library.result_text(self.at, i).decode(errors="replace")
                continue
            results[name] = tensor_of(self._taken(i))

    def _nones(self):
        """Returns the Nones of the last result: [(key, number of results before it)]."""
        nones, before = [], c.c_int()
        key = self.library.result_none(self.at, 0, c.byref(before))
        while key is not None:
            nones.append((key.decode(), before.value))
            key = self.library.result_none(self.at, len(nones), c.byref(before))
        return nones

    def take_tensors(self, n, tensor_of):
        """Returns the last call's results, as take() does, if they are known to be n tensors."""
        return [tensor_of(self._taken(i)) for i in range(n)]

    def _taken(self, i):
        taken = self.library.result_take(self.at, i)
        if not taken:
            self.check(ARGUMENT if b"memory" not in self.library.error(self.at) else MEMORY)
        return taken
