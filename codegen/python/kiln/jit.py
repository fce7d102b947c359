"""@kiln.jit: a function that is compiled behind its first calls."""
import functools
import threading
import warnings
import weakref
from typing import Any, Callable, Optional

from . import arrays, errors, model as models


def jit(function: Optional[Callable] = None, *, calls: int = 2, **options: Any) -> Any:
    """Compiles a function of PyTorch's tensors, or a module, while it is used.

    The first `calls` calls of each structure (dtypes, numbers of dimensions, what is no tensor) run as they are, and
    its code is made for them: sizes in which they differ are left open.  PyTorch's export of it takes its time in the
    last of them; Kiln and the C compiler run in a thread; when they are done, calls of that structure go there.  A call
    of other sizes runs as it is, and `calls` of these give code for those sizes, too.  wait() waits for what is being
    compiled.

    What is compiled is what torch.export finds: Python's numbers and globals as they were, no prints, random numbers of
    Kiln's own.  Calls that need gradients, and a function that cannot be compiled, run as they are, with one warning.

    options: as kiln.compile has them."""
    if function is None:
        return lambda f: jit(f, calls=calls, **options)
    return Jitted(function, calls, options)


class _Structure:
    """Calls of one structure: examples until there is code, and the code."""

    def __init__(self):
        self.examples, self.model, self.thread, self.failed = [], None, None, False


class Jitted:
    """What jit() gives."""

    def __init__(self, function, calls, options):
        functools.update_wrapper(self, function, updated=())
        self._function, self._calls, self._options = function, max(1, calls), options
        self._structures, self._lock, self._bound, self._told = {}, threading.Lock(), weakref.WeakKeyDictionary(), set()

    def __get__(self, owner, cls=None):
        if owner is None:
            return self
        with self._lock:
            if owner not in self._bound:
                self._bound[owner] = Jitted(self._function.__get__(owner, cls), self._calls, self._options)
            return self._bound[owner]

    def __call__(self, *args, **kwargs):
        torch = arrays.torch()
        if torch is None:
            return self._function(*args, **kwargs)
        from torch.utils import _pytree
        if kwargs or not all(isinstance(v, torch.Tensor) for v in args):
            leaves, spec = _pytree.tree_flatten((args, kwargs))
        else:                                          # most calls
            leaves, spec = args, None
        if torch.is_grad_enabled() and self._needs_gradients(leaves):
            self._tell("gradients are needed: %s runs without Kiln; torch.no_grad() lets it be compiled")
            return self._function(*args, **kwargs)
        try:
            structure = self._structure(spec, leaves)
        except TypeError:                              # an argument that cannot be a key
            return self._function(*args, **kwargs)
        if structure.model:
            try:
                return structure.model(*args, **kwargs)
            except (errors.SizeMismatch, errors.GuardFailed):
                pass
        self._note(structure, *_pytree.tree_flatten((args, kwargs)), _pytree)
        return self._function(*args, **kwargs)

    def wait(self):
        """Until nothing is being compiled."""
        for structure in list(self._structures.values()):
            if structure.thread:
                structure.thread.join()

    def _needs_gradients(self, leaves):
        torch = arrays.torch()
        parameters = self._function.parameters() if isinstance(self._function, torch.nn.Module) else ()
        return any(getattr(v, "requires_grad", False) for v in [*leaves, *parameters])

    def _tell(self, text):
        if text not in self._told:
            self._told.add(text)
            errors.warn(text % getattr(self._function, "__name__", type(self._function).__name__))

    def _structure(self, spec, leaves):
        torch = arrays.torch()
        key = spec and str(spec), tuple((v.dtype, v.ndim, v.device) if isinstance(v, torch.Tensor) else (type(v), v)
                               for v in leaves)
        with self._lock:
            return self._structures.setdefault(key, _Structure())

    def _note(self, structure, leaves, spec, pytree):
        """One more example; the last one starts the compilation."""
        torch = arrays.torch()
        if structure.failed or structure.thread:
            return
        kept = [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in leaves]
        with self._lock:
            structure.examples.append(pytree.tree_unflatten(kept, spec))
            if structure.thread or len(structure.examples) < self._calls or structure.failed:
                return
            structure.thread = threading.current_thread()
        self._compile(structure)

    def _compile(self, structure):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                job = models.Job(self._function, models.Calls(structure.examples), **self._options)
            if job.source == "torch.jit.trace":        # which takes one way through a branch for all
                job.folder.cleanup()
                raise errors.CompileError("neither torch.export nor torch.jit.script takes it")
        except Exception as e:                         # PyTorch's and Kiln's: the function runs as it is
            self._fail(structure, e)
            return

        def finish():
            try:
                structure.model = job.finish()
            except Exception as e:
                self._fail(structure, e)
            # sizes that it does not take are collected anew, beside one call of those that it takes
            structure.examples, structure.thread = structure.examples[-1:], None
        structure.thread = threading.Thread(target=finish, name="kiln.jit", daemon=True)
        structure.thread.start()

    def _fail(self, structure, error):
        structure.failed, structure.thread, structure.examples = True, None, []
        lines = str(error).strip().splitlines()
        self._tell("%%s runs without Kiln: %s" % (lines[0] if lines else type(error).__name__).replace("%", "%%"))
