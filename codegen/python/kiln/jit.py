"""@kiln.jit: a function that is compiled after its first calls."""
import functools
import threading
import warnings
import weakref
from typing import Any, Callable, Optional

from . import arrays, door, errors, model as models

MOST = 8    # largest number of times that a structure is compiled, for different sizes, weights and modes


def jit(function: Optional[Callable] = None, *, calls: int = 2, **options: Any) -> Any:
    """Compiles a function of PyTorch's tensors, or a module, while it is used.

    The first `calls` calls of each structure (dtypes, numbers of dimensions, arguments that are no tensors) run as they
    are. Code is made for them, in which the sizes that differ among them are dynamic. PyTorch exports the function
    during the last of these calls. Kiln and the C compiler run in a thread. When they are done, calls of that structure
    use the code. A call with other sizes runs as it is, and `calls` of these lead to code for those sizes, too. wait()
    waits for compilations in progress.

    The code is what torch.export finds: Python's numbers and globals have their values at that time, there are no
    prints, and random numbers are Kiln's own. A module's weights and modes are watched: if they change, its code is
    made again. What cannot be compiled runs as it is, with one warning. This holds for calls that need gradients, and
    for functions that torch.export and torch.jit.script refuse, that write to a module's buffers, or whose results
    share memory with their arguments.

    options: as in kiln.compile."""
    if function is None:
        return lambda f: jit(f, calls=calls, **options)
    return Jitted(function, calls, options)


class _Structure:
    """Calls of one structure: examples until there is code, then the code."""

    def __init__(self):
        self.examples, self.model, self.thread, self.failed = [], None, None, False
        # state of the function's modules when the code was made; how often code was made
        self.state, self.made = None, 0


class _State:
    """The tensors and modes of modules at one time."""

    def __init__(self, modules):
        self.modes = [(m, m.training) for module in modules for m in module.modules()]
        self.tensors = [(held, name, t, arrays.TORCH.version(t)) for m, _ in self.modes
                        for held in (m._parameters, m._buffers) for name, t in held.items() if t is not None]

    def holds(self):
        return all(m.training is mode for m, mode in self.modes) and all(
            held.get(name) is t and arrays.TORCH.version(t) == version for held, name, t, version in self.tensors)


class Jitted(door.Locked):
    """The result of jit()."""

    def __init__(self, function, calls, options):
        super().__init__()
        functools.update_wrapper(self, function, updated=())
        self._function, self._calls, self._options = function, max(1, calls), options
        self._structures, self._bound, self._told = {}, weakref.WeakKeyDictionary(), set()
        self._modules = None                           # modules that the function refers to, from the first call on

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
        from . import capture
        if self._modules is None:
            self._find_modules()
        if kwargs or not all(isinstance(v, torch.Tensor) for v in args):
            leaves, spec = _pytree.tree_flatten((args, kwargs))
        else:                                          # most calls
            leaves, spec = args, None
        if torch.is_grad_enabled() and self._needs_gradients(leaves):
            self._tell("gradients are needed: %s runs without Kiln; torch.no_grad() lets it be compiled")
            return self._function(*args, **kwargs)
        if capture.has_autocast():
            self._tell("autocast is on: %s runs without Kiln; put autocast into the function")
            return self._function(*args, **kwargs)
        try:
            structure = self._structure(spec, leaves)
        except TypeError:                              # an argument cannot be a key
            return self._function(*args, **kwargs)
        model = structure.model
        if model and not structure.state.holds():
            model = self._state_changed(structure)
        if model:
            try:
                return model(*args, **kwargs)
            except (errors.BadArgument, errors.GuardFailed):
                pass
        if structure.failed or structure.thread:
            return self._function(*args, **kwargs)
        self._note(structure, *_pytree.tree_flatten((args, kwargs)), _pytree)
        before = _State(self._modules)
        result = self._function(*args, **kwargs)
        self._look_at(structure, before, leaves, _pytree.tree_flatten(result)[0])
        return result

    def wait(self):
        """Waits until nothing is being compiled."""
        for structure in list(self._structures.values()):
            if structure.thread:
                structure.thread.join()

    def _state_changed(self, structure):
        with self._lock:
            structure.model, structure.examples = None, []

    def _find_modules(self):
        from . import capture
        self._modules = list(capture.modules_of(self._function).values())

    def _look_at(self, structure, before, arguments, results):
        """Checks what a call did that ran as it is."""
        from . import graphs
        held = [t for _, _, t, _ in before.tensors]
        if not before.holds():
            self._fail(structure, "it writes to the tensors of its module")
        elif graphs.views([*arguments, *held], results) != {}:
            self._fail(structure, "its results share memory with arguments, weights or each other")

    def _needs_gradients(self, leaves):
        parameters = [p for module in self._modules for p in module.parameters()]
        return any(getattr(v, "requires_grad", False) for v in [*leaves, *parameters])

    def _tell(self, text):
        if text not in self._told:
            self._told.add(text)
            errors.warn(text % getattr(self._function, "__name__", type(self._function).__name__))

    def _structure(self, spec, leaves):
        torch = arrays.torch()
        key = spec and str(spec), tuple((v.dtype, v.ndim, v.device, v.layout) if isinstance(v, torch.Tensor) else
                                        (type(v), repr(v) if type(v) in (float, complex) else v) for v in leaves)
        with self._lock:
            return self._structures.setdefault(key, _Structure())

    def _note(self, structure, leaves, spec, pytree):
        """Adds an example. The last one starts the compilation."""
        torch = arrays.torch()
        if any(isinstance(v, torch.Tensor) and v.layout is not torch.strided for v in leaves):
            self._fail(structure, "an argument is no dense tensor")
            return
        kept = [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in leaves]
        with self._lock:
            structure.examples.append(pytree.tree_unflatten(kept, spec))
            if structure.thread or len(structure.examples) < self._calls or structure.failed:
                return
            structure.thread = threading.current_thread()
        self._compile(structure)

    def _compile(self, structure):
        structure.made += 1
        if structure.made > MOST:
            model = structure.model                    # for the sizes that the code accepts
            self._fail(structure, "its sizes, weights or modes changed %d times" % MOST)
            structure.model = model
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                job = models.Job(self._function, models.Calls(structure.examples), **self._options)
            if getattr(job.signature, "writes_state", False):
                job.folder.cleanup()
                raise errors.CompileError("it writes to the tensors of its module")
            self._find_modules()
            state = _State(self._modules)
        except Exception as e:                         # PyTorch's or Kiln's error: the function runs as it is
            self._fail(structure, e)
            return

        def finish():
            try:
                model = job.finish()
                with self._lock:
                    if not structure.failed:
                        structure.state, structure.model = state, model
            except Exception as e:
                self._fail(structure, e)
            # collects sizes that the code does not accept, beside one call with sizes that it accepts
            structure.examples, structure.thread = structure.examples[-1:], None
        structure.thread = threading.Thread(target=finish, name="kiln.jit", daemon=True)
        structure.thread.start()

    def _fail(self, structure, error):
        structure.failed, structure.model, structure.thread, structure.examples = True, None, None, []
        lines = str(error).strip().splitlines()
        self._tell("%%s runs without Kiln: %s" % (lines[0] if lines else type(error).__name__).replace("%", "%%"))
