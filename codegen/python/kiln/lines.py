"""Finds lines of the user's code: where PyTorch raised, and where it asked for something."""
import linecache
import os
import re
import sys
import traceback


def is_users(file):
    """Whether a frame's file is the user's, or that of a library that the user calls. Files of PyTorch, of the package
    that it computes sizes with, of Python, and of this package are not."""
    inside = [os.path.dirname(os.path.abspath(__file__))]
    inside += [os.path.dirname(m.__file__) for m in map(sys.modules.get, ("torch", "sympy", "mpmath")) if m]
    return os.path.exists(file) and not file.startswith(tuple(d + os.sep for d in inside)) and \
        ("-packages" in file or not file.startswith(os.path.dirname(os.__file__) + os.sep))


def of_error(error):
    """Returns (file, line) of the user's code at which PyTorch raised, from the traceback, else from the message. None
    if neither names a line."""
    frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)]
    named = re.search(r'File "([^"]+)", line (\d+)', str(error))
    return frames[-1] if frames else (named.group(1), int(named.group(2))) if named else None


def of_call():
    """Returns (file, line) of the model's code that runs now, in a call of this package: the innermost line of the
    user's code, else of PyTorch's modules. None if there is none."""
    frame, layer = sys._getframe(1), None
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    layers = os.sep + os.path.join("torch", "nn", "modules") + os.sep
    while frame and frame.f_code.co_filename.startswith(here):         # the caller's own frames
        frame = frame.f_back
    while frame and not frame.f_code.co_filename.startswith(here):
        at = frame.f_code.co_filename, frame.f_lineno
        if is_users(at[0]):
            return at
        if layers in at[0] and not at[0].endswith(os.sep + "module.py"):
            layer = layer or at
        frame = frame.f_back
    return layer


def spelled(at):
    """Returns "file:line (code)"."""
    return "%s:%d (%s)" % (*at, linecache.getline(*at).strip())
