"""Exceptions, one class for each kind of error. All are KilnError. The text is Kiln's message."""
import builtins
import os
import sys
import warnings

_INSIDE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_said = set()


def warn(text, once=False):
    """Warns at the caller's line, outside of this package and of PyTorch's compiler. once: only once in this
    process."""
    if once and text in _said:
        return
    _said.add(text)
    frame, level = sys._getframe(1), 2
    while frame.f_back and (frame.f_code.co_filename.startswith(_INSIDE) or "/torch/" in frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


class KilnError(RuntimeError):
    """Base class of all exceptions of this package."""


class CompileError(KilnError):
    """A model cannot be read or compiled, or a command failed."""


class BadOption(CompileError, ValueError):
    """An option that Kiln does not have, or a value that the option does not accept."""


class Unsupported(KilnError, NotImplementedError):
    """Kiln, DLPack or NumPy lacks something that the model or the call needs. The text names it."""


class InternalError(KilnError):
    """A bug of Kiln."""


class BadArgument(KilnError, ValueError):
    """An argument that the model does not accept, because of its name, its dtype or its place in the structure."""


class SizeMismatch(BadArgument):
    """An argument's sizes are not among those that the model was compiled for."""


class ModelRaised(KilnError):
    """The model raised an exception. `kind` is the name of its exception, `traceback` the lines of the model that led
    to it. If `kind` is a Python exception, such as ValueError, the error is also an instance of that class."""
    kind = "RuntimeError"
    traceback = ""

    __str__ = Exception.__str__                        # the method of KeyError would quote the text


class GuardFailed(KilnError):
    """With strict=True: no specialized code accepts the call."""


class OutOfMemory(KilnError, MemoryError):
    """Memory was exhausted."""


class Busy(KilnError):
    """The instance is in another call, from which its own print or warning callback made this one."""


_raised, _HERE = {}, "<--- HERE\n"                    # end of a line of a traceback


def raised(text):
    """Returns the exception for the text of NAME_error: a traceback, then CLASS: message."""
    end = text.rfind(_HERE)
    head, last = text[:end + len(_HERE)] if end >= 0 else "", text[end + len(_HERE):] if end >= 0 else text
    last = last.lstrip("\n")
    kind, colon, message = last.partition(": ")
    if not colon or not kind.replace(".", "").replace("_", "").isalnum():
        kind, message = "RuntimeError", last
    kind = kind.replace("builtins.", "")
    if kind == "RuntimeError" and message.startswith("AssertionError: "):
        kind, message = message.split(": ", 1)         # the form in which TorchScript raises it
    if kind == "AssertionError" and message.startswith("Guard failed: "):
        return SizeMismatch(message + ": the model was compiled for the sizes and numbers of its "
                            "examples; dynamic=True, or examples of several sizes, leave them open")
    error = _class(kind.rpartition(".")[2])(message)
    error.kind, error.traceback = kind, head
    if head and hasattr(error, "add_note"):
        error.add_note(head.rstrip())
    return error


def _class(kind):
    base = getattr(builtins, kind, None)
    if not (isinstance(base, type) and issubclass(base, Exception)) or issubclass(ModelRaised, base):
        return ModelRaised
    if kind not in _raised:
        try:
            _raised[kind] = type("ModelRaised" + kind, (ModelRaised, base), {})
        except TypeError:                              # Python's class has objects of another layout
            _raised[kind] = ModelRaised
    return _raised[kind]


# Classes by the exit status of a command.
BY_STATUS = {1: CompileError, 2: BadOption, 3: InternalError, 4: KilnError, 5: GuardFailed, 6: Unsupported,
             7: Unsupported}
