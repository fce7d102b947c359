"""Compiled models: compile(), and what it gives."""
import hashlib
import json
import os
import tempfile
import zipfile
from typing import Any, Dict, Optional, Sequence, Union

from . import arrays, cache, door, errors, program, tree

# Of an entry of the cache: the library, and its weights, when an archive of more than LARGE bytes has them: code and
# weights have to be within 2 GB of each other.
LIBRARY, WEIGHTS, LARGE = "model.so", door.NAME + ".weights", 1 << 30


class Model(door.Locked):
    """A compiled model: call it as the module or the archive's method that it was made from.

    Arguments: PyTorch's tensors, NumPy's arrays, or whatever has `__dlpack__`, in the CPU's memory, read (and where the
    model does so, written) where they lie; lists, tuples, dicts, numbers, texts and None as the model takes them.
    Results: PyTorch's tensors if an argument was one, or if there is no tensor among them and the model came from a
    module; else NumPy's arrays; in the structure of the model's.  They are the caller's, and have no gradients.

    A model has a state (buffers that it writes, random numbers), which its calls change in turn.  It serves one call at
    a time: calls by several threads wait for each other.  copy() gives another one, with a state of its own and the
    same code and weights, for a thread of its own.

    Raises BadArgument (SizeMismatch), ModelRaised, Unsupported, OutOfMemory, GuardFailed, Busy, all KilnError.

    pickle saves it as its library: loaded, it is as after opening.  Code made for a processor (cpu="native", the
    default) is refused on one that lacks its instructions."""

    def __init__(self, library, made, signatures, options):
        """library: a file.  made: what compile() knows of it, for JSON.  signatures: {method: tree.Signature or
        capture.Exported}.  options: threads, seed, strict, of opening."""
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
        """The shared library's file, which is C's, too: its functions begin with kiln_model_."""
        return self._file

    @property
    def built(self) -> Dict[str, Any]:
        """What `kiln build --json` said of it: specializations, code_bytes, weights_bytes, peak_bytes ..."""
        return self._made["built"]

    @property
    def source(self) -> str:
        """What it was made from: torch.export, torch.jit.script, torch.jit.trace, or a path."""
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
        """The results of a call, as build() of the method's signature wants them.  leaves: as door.Instance.call()'s."""
        with self._lock:
            if self._instance.process != os.getpid():  # forked: the threads of a pool are the parent's
                self._open()
            self._instance.call(method, leaves)
            n = self._signatures[method].tensors
            return self._instance.take(kind.own) if n is None else self._instance.take_tensors(n, kind.own)

    def reset(self) -> None:
        """State and random numbers are as after opening."""
        with self._lock:
            self._instance.check(self._instance.library.reset(self._instance.at))

    def copy(self) -> "Model":
        """Another one with a state of its own, as after opening; code and weights are shared."""
        return Model(self._file, self._made, self._signatures, self._options)

    def state(self, name: str) -> Any:
        """A copy of an attribute that the model's methods use, as `cache` or `encoder.cache`: an array of the kind that
        results have; a number is one of no dimensions."""
        t = door.DLTensor()
        with self._lock:
            self._instance.check(self._instance.library.state_get(self._instance.at, name.encode(), door.c.byref(t)))
            found = arrays.copied(t)
        return arrays.torch().from_numpy(found) if self._made["torch"] and arrays.torch() else found

    def set_state(self, name: str, value: Any) -> None:
        """Sets an attribute: a tensor of its dtype, of any size, or a number."""
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
    """Examples as they are kept: [(args, kwargs)]."""


def examples_of(example_inputs):
    """[(args, kwargs)] of what compile() is given."""
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
    """Of what decides the compiled code: not the examples' numbers, nor when and where it was written."""
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
    """An entry of the cache: the library, weights that are too large for one, and what `kiln build` says of it."""
    words = [w for i in inputs for w in ("-i", i)] + words
    words += ["--weights", "file"] if os.path.getsize(path) > LARGE else []
    program.run("build", path, *words, "--emit", "shared", "--name", door.NAME, "-o", os.path.join(folder, LIBRARY),
                "--json", os.path.join(folder, "built.json"))
    for end in ".h", ".pc":
        os.unlink(os.path.join(folder, door.NAME + end))


def signatures_of(path, names, options):
    """{method: its Signature} of an archive or source, by the names of methods."""
    words = program.words_of({k: v for k, v in options.items() if k in ("op", "op_schema", "op_body")})
    information = json.loads(program.run("info", path, "--json", *words)[0])
    found = {m["name"]: m for m in information.get("methods", []) + information.get("functions", [])}
    lacks = [n for n in names if n not in found]
    if lacks:
        raise errors.BadOption("there is no method '%s': %s" % (lacks[0], ", ".join(found)))
    return {n: tree.Signature(found[n]) for n in names}


def _threads(threads):
    """None: as many as PyTorch has, where it is imported; else one."""
    if threads is None:
        return arrays.torch().get_num_threads() if arrays.torch() else 1
    if not isinstance(threads, int) or threads < 0:
        raise errors.BadOption("threads: a number is wanted, not %r" % (threads,))
    return -1 if threads == 0 else threads


def method_names(method):
    """The names of methods: of one, of several with commas, or a list of them.  None: forward."""
    names = ["forward"] if method is None else method.split(",") if isinstance(method, str) else method
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) for n in names):
        raise TypeError("method: a name, or a list of names, not %r" % (method,))
    return list(names)


def inputs_of(folder, signature, calls):
    """Files of examples for Kiln, and the digest of all."""
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

    model: a torch.nn.Module, a function of tensors, a torch.export.ExportedProgram, what torch.jit gives, or the path
        of an archive (.pt, .pt2), of TorchScript source (.py) or of a graph (.ir).  A module goes through torch.export,
        or, if that refuses it, through torch.jit.script, with a warning.
    example_inputs: of a call: a tuple of positional arguments, a dict of named ones, or the only argument.  A list of
        such tuples and dicts: several calls.  Sizes, dtypes and structure are learned from them.  An archive .pt2 may
        have its own; other archives may do without, and run slower.
    dynamic: of a module: False: sizes and ints are those of the examples, and open where several examples differ.
        True: all are open.  Or what torch.export takes as dynamic_shapes.  An archive has said itself which are.
    threads: of a call; 0: one for each core; None: as PyTorch, where it is imported, else 1.
    seed: of the model's random numbers.
    strict: a call that specialized code does not take raises GuardFailed, and is not answered by generic code.
    keep: the library stays in the cache (KILN_CACHE, ~/.cache/kiln/python), by the contents of model, options, compiler
        and kiln; False: it is made for this process.
    cc: a C compiler; without one, the one inside Kiln is taken, with one warning.
    device: cpu, cuda or cuda:1, where the model computes, with the option gpu="sm_90"; None: the GPU if there is one.
        Tensors on it are read and written in place, and results are there if an argument is.
    no_grad: as under torch.no_grad().
    trace: a module goes through torch.jit.trace.  The trace takes the branches of the first example for all inputs, and
        has none of the model's own checks (torch._check, assert).
    method: an archive's method, or a list of them, or names with commas; the first one is what a call of the model
        calls, the others are its attributes.
    options: all others of `kiln build`: optimize=3, cpu="x86-64-v3", forms="small", eval=True, max_specializations=8,
        no_pass=["fuse"], op=..., timeout=60 ...

    Raises CompileError (BadOption), Unsupported (an operator that Kiln lacks), BadArgument (examples)."""
    return Job(model, example_inputs, dynamic=dynamic, threads=threads, seed=seed, strict=strict, keep=keep, cc=cc,
               device=device, no_grad=no_grad, method=method, trace=trace, **options).finish()


class Job:
    """A compilation in two parts: PyTorch's when it is made, where the caller's modes hold, and Kiln's in finish(),
    which may be another thread's.  Arguments as compile()'s."""

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
        """The compiled model."""
        with self.folder:
            if self.signature is None:
                signatures = signatures_of(self.path, self.names, self.operators)
            else:
                signatures = {"forward": self.signature}
            calls = self.calls[1:] if self.signature else self.calls         # the archive has the first one
            inputs, digest = inputs_of(self.folder.name, signatures[self.names[0]], calls)
            compiler = program.compiler(self.cc)
            here = compiler != "tcc" and not self.cpu                    # code for this machine only
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
    """(path, signature or None, the examples' calls, what it was made from)."""
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
