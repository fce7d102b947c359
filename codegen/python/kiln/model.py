"""Compiled models: compile() and its result."""
import hashlib
import json
import os
import tempfile
import zipfile
from typing import Any, Dict, Optional, Sequence, Union

from . import arrays, cache, door, errors, program, tree

# Files of an entry of the cache: the library, and its weights if an archive has more than LARGE bytes. They are separate
# then, because code and weights in one file must be within 2 GB of each other.
LIBRARY, WEIGHTS, LARGE = "model.so", door.NAME + ".weights", 1 << 30


class Model(door.Locked):
    """A compiled model. Call it like the module or the archive's method that it was made from.

    Arguments: PyTorch's tensors, NumPy's arrays, or any object with `__dlpack__` in the CPU's memory. They are read in
    place, and written in place if the model writes to them. Lists, tuples, dicts, numbers, texts and None are passed as
    to the model. Results: they have the structure of the model's results. They are PyTorch's tensors if an argument was
    one, or if there is no tensor among the arguments and the model came from a module. Otherwise they are NumPy's
    arrays. They belong to the caller, and have no gradients.

    A model has a state (buffers that it writes, random numbers), which its calls change in turn. It serves one call at
    a time: calls by several threads wait for each other. copy() returns a model with its own state and the same code
    and weights, for another thread.

    Raises BadArgument (SizeMismatch), ModelRaised, Unsupported, OutOfMemory, GuardFailed, Busy, all KilnError.

    pickle saves it as its library. A loaded model has the state of a new one. Code made for a processor (cpu="native",
    the default) is refused on a processor that lacks its instructions."""

    def __init__(self, library, made, signatures, options):
        """library: a file. made: facts for JSON that compile() knows. signatures: {method: tree.Signature or
        capture.Exported}. options: threads, seed and strict, for opening."""
        self._file, self._made, self._signatures, self._options = library, made, signatures, options
        self._first = next(iter(signatures))
        super().__init__()
        self._instance = None
        lacks = set(made["processor"]) - set(program.processor())
        if lacks:
            raise errors.Unsupported("the model was compiled for a processor that has %s: compile it here, or with "
                                     "cpu=\"x86-64-v3\"" % ", ".join(sorted(lacks)))
        self._open()

    def _open(self):
        weights = os.path.join(os.path.dirname(self._file), WEIGHTS)
        self._instance = door.Instance(door.load(self._file), weights if os.path.exists(weights) else None,
                                       **self._options)

    @property
    def library(self) -> str:
        """Path of the shared library. C programs can use it, too: its functions begin with kiln_model_."""
        return self._file

    @property
    def built(self) -> Dict[str, Any]:
        """The JSON of `kiln build`: specializations, code_bytes, weights_bytes, peak_bytes ..."""
        return self._made["built"]

    @property
    def source(self) -> str:
        """Origin of the model: torch.export, torch.jit.script, torch.jit.trace, or a path."""
        return self._made["source"]

    def __repr__(self):
        return "<kiln.Model of %s: %s>" % (self.source, ", ".join(self._signatures))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._first, args, kwargs)

    def __getattr__(self, name):
        signatures = self.__dict__.get("_signatures", {})
        if name.startswith("_") or name not in signatures:
            raise AttributeError("a model has no %r; its methods are %s" % (name, ", ".join(signatures)))
        return lambda *args, **kwargs: self._call(name, args, kwargs)

    def _call(self, method, args, kwargs):
        signature = self._signatures[method]
        given, kind = signature.flatten(args, kwargs), None
        leaves, kept, owners = [], [], []
        for key, value in given:
            if isinstance(value, str):
                leaves.append((key, value))
                continue
            one = arrays.kind_of(value)
            kind = one if one is arrays.TORCH or not kind else kind
            address, array, owner = (one or arrays.NUMPY).view(value if one else arrays.NUMPY.number(value), key)
            leaves.append((key, address))
            kept.append(array)
            owners.append(owner)
        kind = kind or (arrays.TORCH if self._made["torch"] and arrays.torch() else arrays.NUMPY)
        if kind is arrays.TORCH:
            _tell_of_gradients(kept)
        results = self._run(method, leaves, kind)
        if signature.written:
            for (key, value), alive in zip([leaf for leaf in given if not isinstance(leaf[1], str)], kept):
                if key in signature.written:
                    arrays.kind_of(value).wrote(value, alive)
        return signature.build(results)

    def _run(self, method, leaves, kind):
        """Runs a method and builds its results by its signature. leaves: as in door.Instance.call()."""
        with self._lock:
            if self._instance.process != os.getpid():  # forked: the threads of the pool exist only in the parent
                self._open()
            self._instance.call(method, leaves)
            n = self._signatures[method].tensors
            return self._instance.take(kind.own) if n is None else self._instance.take_tensors(n, kind.own)

    def reset(self) -> None:
        """Restores the state and the random numbers of a new model."""
        with self._lock:
            self._instance.check(self._instance.library.reset(self._instance.at))

    def copy(self) -> "Model":
        """Returns another model with its own state, which is that of a new model. Code and weights are shared."""
        return Model(self._file, self._made, self._signatures, self._options)

    def state(self, name: str) -> Any:
        """Returns a copy of an attribute that the model's methods use, such as `cache` or `encoder.cache`. It is an
        array of the kind of the results. A number is an array without dimensions."""
        t = door.DLTensor()
        with self._lock:
            self._instance.check(self._instance.library.state_get(self._instance.at, name.encode(), door.c.byref(t)))
            found = arrays.copied(t)
        return arrays.torch().from_numpy(found) if self._made["torch"] and arrays.torch() else found

    def set_state(self, name: str, value: Any) -> None:
        """Sets an attribute to a tensor of its dtype and any size, or to a number."""
        address, array, owner = arrays.view(value if arrays.kind_of(value) else arrays.NUMPY.number(value), name)
        with self._lock:
            self._instance.check(self._instance.library.state_set(self._instance.at, name.encode(), address))
        del array, owner

    def __getstate__(self):
        files, folder = {}, os.path.dirname(self._file)
        for name in (LIBRARY, WEIGHTS):
            if os.path.exists(os.path.join(folder, name)):
                with open(os.path.join(folder, name), "rb") as f:
                    files[name] = f.read()
        return {"files": files, "made": self._made, "signatures": self._signatures, "options": self._options}

    def __setstate__(self, state):
        def make(folder):
            for name, data in state["files"].items():
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(data)
        digest = hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in state["files"].values()))
        folder = cache.get("pickled-" + digest.hexdigest(), make)
        self.__init__(os.path.join(folder, LIBRARY), state["made"], state["signatures"], state["options"])


def _tell_of_gradients(tensors):
    torch = arrays.torch()
    if torch.is_grad_enabled() and any(getattr(t, "requires_grad", False) for t in tensors):
        errors.warn("an argument requires a gradient: results of Kiln's models have none", once=True)


# ---- compiling


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


class Calls(list):
    """The examples, in normal form: [(args, kwargs)]."""


def examples_of(example_inputs):
    """Returns the examples of compile() as [(args, kwargs)]."""
    if isinstance(example_inputs, Calls):
        return example_inputs
    def one(value):
        if isinstance(value, tuple):
            return value, {}
        return ((), value) if isinstance(value, dict) else ((value,), {})
    if example_inputs is None:
        return []
    several = isinstance(example_inputs, list) and all(isinstance(v, (tuple, dict)) for v in example_inputs)
    return [one(v) for v in example_inputs] if several and example_inputs else [one(example_inputs)]


def _archive_digest(path):
    """Returns a hash of the parts of an archive that decide the compiled code. The examples' numbers, and when and
    where the archive was written, do not count."""
    made = hashlib.sha256()
    if not zipfile.is_zipfile(path):
        return program.digest(path)
    with zipfile.ZipFile(path) as z:
        for member in sorted(z.namelist()):
            inside = member.partition("/")[2] or member
            if inside.startswith("data/sample_inputs/") or inside.endswith("serialization_id"):
                continue
            made.update(("%s %d\n" % (inside, z.getinfo(member).file_size)).encode())
            with z.open(member) as f:
                for block in iter(lambda: f.read(1 << 20), b""):
                    made.update(block)
    return made.hexdigest()


def _build(folder, path, inputs, words):
    """Makes an entry of the cache: the library, weights that are too large for it, and the JSON of `kiln build`."""
    words = [w for i in inputs for w in ("-i", i)] + words
    words += ["--weights", "file"] if os.path.getsize(path) > LARGE else []
    program.run("build", path, *words, "--emit", "shared", "--name", door.NAME, "-o", os.path.join(folder, LIBRARY),
                "--json", os.path.join(folder, "built.json"))
    for end in ".h", ".pc":
        os.unlink(os.path.join(folder, door.NAME + end))


def signatures_of(path, names, options):
    """Returns {method: Signature} of an archive or source, for these names of methods."""
    words = program.words_of({k: v for k, v in options.items() if k in ("op", "op_schema", "op_body")})
    information = json.loads(program.run("info", path, "--json", *words)[0])
    found = {m["name"]: m for m in information.get("methods", []) + information.get("functions", [])}
    lacks = [n for n in names if n not in found]
    if lacks:
        raise errors.BadOption("there is no method '%s': %s" % (lacks[0], ", ".join(found)))
    return {n: tree.Signature(found[n]) for n in names}


def _threads(threads):
    """Returns the number of threads. None stands for PyTorch's number if torch is imported, else for one."""
    if threads is None:
        return arrays.torch().get_num_threads() if arrays.torch() else 1
    if not isinstance(threads, int) or threads < 0:
        raise errors.BadOption("threads: a number is wanted, not %r" % (threads,))
    return -1 if threads == 0 else threads


def method_names(method):
    """Returns the names of methods from one name, several with commas, or a list. None stands for forward."""
    names = ["forward"] if method is None else method.split(",") if isinstance(method, str) else method
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) for n in names):
        raise TypeError("method: a name, or a list of names, not %r" % (method,))
    return list(names)


def inputs_of(folder, signature, calls):
    """Writes the examples to files for Kiln. Returns the paths and a hash of all."""
    paths, made = [], hashlib.sha256()
    for i, (args, kwargs) in enumerate(calls):
        paths.append(os.path.join(folder, "in%d.npz" % i))
        arrays.save(paths[-1], signature.flatten(args, kwargs))
        made.update(program.digest(paths[-1]).encode())
    return paths, made.hexdigest()


def compile(model: Any, example_inputs: Any = None, *, dynamic: Any = False, threads: Optional[int] = None,
            seed: Optional[int] = None, strict: bool = False, keep: bool = True, cc: Optional[str] = None,
            device: Any = None, no_grad: bool = True, method: Union[str, Sequence[str], None] = None,
            trace: bool = False, **options: Any) -> Model:
    """Compiles a model for this machine's CPU.

    model: a torch.nn.Module, a function of tensors, a torch.export.ExportedProgram, a result of torch.jit, or the path
        of an archive (.pt, .pt2), of TorchScript source (.py) or of a graph (.ir). A module goes through torch.export,
        or, if that refuses it, through torch.jit.script, with a warning.
    example_inputs: the arguments of a call: a tuple of positional ones, a dict of named ones, or the only argument. A
        list of such tuples and dicts stands for several calls. Sizes, dtypes and structure are learned from them. A
        .pt2 archive may contain its own. Other archives need none, but run slower without.
    dynamic: for a module. False: sizes and ints are those of the examples, and dynamic if several examples differ.
        True: all are dynamic. Or dynamic_shapes for torch.export. An archive itself declares which sizes are dynamic.
    threads: number of threads of a call; 0 for one for each core; None for PyTorch's number if torch is imported, or 1.
    seed: seed of the model's random numbers.
    strict: a call that no specialized code accepts raises GuardFailed, instead of running generic code.
    keep: keeps the library in the cache (KILN_CACHE, ~/.cache/kiln/python), by the contents of model, options, compiler
        and kiln. If False, the library is made for this process only.
    cc: a C compiler. If there is none, the one inside Kiln is used, with one warning.
    device: cpu, cuda or cuda:1, on which the model computes, with the option gpu="sm_90". None: the GPU if it
        exists. Tensors on it are read and written in place, and results are there if an argument is.
    no_grad: runs as under torch.no_grad().
    trace: a module goes through torch.jit.trace. The trace takes the branches of the first example for all inputs, and
        has none of the model's own checks (torch._check, assert).
    method: a method of an archive, a list of methods, or names with commas. A call of the model calls the first one;
        the others are attributes of the model.
    options: all other options of `kiln build`: optimize=3, cpu="x86-64-v3", forms="small", eval=True,
        max_specializations=8, no_pass=["fuse"], op=..., timeout=60 ...

    Raises CompileError (BadOption), Unsupported (an operator that Kiln lacks), BadArgument (examples)."""
    return Job(model, example_inputs, dynamic=dynamic, threads=threads, seed=seed, strict=strict, keep=keep, cc=cc,
               device=device, no_grad=no_grad, method=method, trace=trace, **options).finish()


class Job:
    """A compilation in two parts. PyTorch's part runs when the Job is made, under the caller's modes. Kiln's part runs
    in finish(), which another thread may call. Arguments: as in compile()."""

    def __init__(self, model, example_inputs, *, dynamic=False, threads=None, seed=None, strict=False, keep=True,
                 cc=None, device=None, no_grad=True, method=None, trace=False, **options):
        if isinstance(model, Model):
            raise TypeError("compile() wants a module or a path: the model is compiled")
        if not _is_path(model) and arrays.torch() is None:
            raise TypeError("compile() wants a path, or a module of PyTorch, not a %s" % type(model).__name__)
        self.names = method_names(method)
        self.words = program.words_of(dict(options, no_grad=no_grad, method=method and ",".join(self.names)))
        self.words += ["--seed", str(seed)] if seed is not None else []
        self.options = {"threads": _threads(threads), "seed": seed, "strict": strict, "device": device}
        self.cc, self.cpu, self.keep, self.torch = cc, options.get("cpu"), keep, not _is_path(model)
        self.operators = options
        self.folder = tempfile.TemporaryDirectory(prefix="kiln-")
        try:
            self.path, self.signature, self.calls, self.source = source_of(
                model, examples_of(example_inputs), dynamic, self.folder.name, trace)
        except BaseException:
            self.folder.cleanup()
            raise

    def finish(self) -> Model:
        """Returns the compiled model."""
        with self.folder:
            if self.signature is None:
                signatures = signatures_of(self.path, self.names, self.operators)
            else:
                signatures = {"forward": self.signature}
            calls = self.calls[1:] if self.signature else self.calls         # the archive contains the first one
            inputs, digest = inputs_of(self.folder.name, signatures[self.names[0]], calls)
            compiler = program.compiler(self.cc)
            here = compiler != "tcc" and not self.cpu                    # the code is for this machine only
            words = [*self.words, "--cc", compiler, *(["--cpu", "native"] if here else [])]
            processor = program.processor() if here else ()
            key = hashlib.sha256(json.dumps([
                _archive_digest(self.path), digest, words, program.digest(program.path()), program.version(compiler),
                processor, os.environ.get("CFLAGS"), os.environ.get("LDFLAGS")]).encode()).hexdigest()
            entry = cache.get(key, lambda made: _build(made, self.path, inputs, words), self.keep)
        with open(os.path.join(entry, "built.json")) as f:
            built = json.load(f)
        if not built["specializations"]:
            why = built["generic"][0]["why"] if self.calls else "there are no example_inputs"
            errors.warn("%s runs as generic code, which is slow: %s" % (self.source, why))
        made = {"source": self.source, "torch": self.torch, "processor": processor, "built": built}
        return Model(os.path.join(entry, LIBRARY), made, signatures, self.options)


def source_of(model, examples, dynamic, folder, trace=False):
    """Returns (path, signature or None, calls of the examples, origin of the model)."""
    if _is_path(model):
        if trace:
            raise errors.BadOption("trace=True wants a module or a function, not the path of an archive")
        if not os.path.exists(model):
            raise errors.CompileError("%s: No such file or directory" % os.fspath(model))
        return os.fspath(model), None, examples, os.fspath(model)
    from . import capture
    if not capture.is_model(model):
        raise TypeError("compile() wants a module, a function or a path, not a %s" % type(model).__name__)
    archive = capture.capture(model, examples, dynamic, folder, trace)
    return archive.path, archive.signature, archive.calls, archive.how
