"""Finds the program `kiln` and runs it."""
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from . import errors

_HERE = os.path.dirname(os.path.abspath(__file__))
# Options that Model needs to have fixed values, or that compile() sets itself.
_OURS = {"output", "emit", "name", "input", "json", "static", "target", "weights", "bench_code", "profile"}


def path() -> str:
    """Returns the path of the program: KILN_PROGRAM in the environment, or the program in the wheel."""
    carried = os.environ.get("KILN_PROGRAM") or os.path.join(_HERE, "carried", "kiln")
    if not os.access(carried, os.X_OK):
        raise errors.CompileError("there is no program %s: is this a wheel of `ninja wheel`?  KILN_PROGRAM names one"
                                  % carried)
    return carried


def run(*words, passed=(0,)):
    """Runs a command. Returns its standard output and its status, if the status is in `passed`. Otherwise raises its
    error."""
    done = subprocess.run([path(), *map(os.fspath, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode not in passed:
        text = re.sub(r"^(error|kiln): ", "", said)
        raise errors.BY_STATUS.get(done.returncode, errors.InternalError)(
            text or "kiln %s ended with status %d" % (words[0], done.returncode))
    return done.stdout.decode(errors="replace"), done.returncode


def words_of(options):
    """Returns the command line's words for options given by keyword: cc="tcc", optimize=3, eval=True,
    no_pass=["fuse"]."""
    words = []
    for name, value in sorted(options.items()):
        if name in _OURS:
            raise errors.BadOption("the option %r is not for Python" % name)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append("--" + name.replace("_", "-"))
            elif one is not False and one is not None:
                words += ["--" + name.replace("_", "-"), os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return words


@functools.lru_cache(None)
def _digest(file, size, changed):
    with open(file, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def digest(file):
    """Returns a hash of a file's bytes."""
    found = os.stat(file)
    return _digest(os.path.realpath(file), found.st_size, found.st_mtime_ns)


# ---- compilers and processors


@functools.lru_cache(None)
def _links(cc):
    """Returns the reason why a C compiler does not make shared libraries here; this also needs the C library's
    development files. None if it does."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            words = [cc, "-shared", "-fPIC", "-x", "c", os.devnull, "-o", os.path.join(folder, "o"), "-lm"]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except OSError as e:
            return "%s: %s" % (cc, e.strerror)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return (said[-1] if said else "%s ended with status %d" % (cc, done.returncode)) if done.returncode else None


@functools.lru_cache(None)
def _default_compiler():
    cc = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    why = _links(cc) if cc else "there is none"
    if not why:
        return cc
    errors.warn("no C compiler that links (%s): models are compiled by the compiler inside Kiln, and are slower.  "
                "On Debian: apt-get install gcc libc6-dev" % why)
    return "tcc"


def compiler(cc=None):
    """Returns the C compiler: `cc`, CC in the environment, or the first of cc, gcc, clang that can link. If there is
    none, the one inside Kiln, with one warning."""
    return cc or _default_compiler()


@functools.lru_cache(None)
def version(cc):
    """Returns a text that identifies a compiler and its version."""
    if cc == "tcc":
        return cc
    try:
        done = subprocess.run([cc, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    except OSError:
        return cc
    return cc + done.stdout.decode(errors="replace")


@functools.lru_cache(None)
def processor():
    """Returns the sets of instructions of this processor that compilers use."""
    try:
        with open("/proc/cpuinfo") as f:
            line = next((s for s in f if s.startswith(("flags", "Features"))), ":")
    except OSError:
        line = ":"
    sets = re.compile("(sse|ssse|avx|fma|bmi|f16c|amx|sha|vaes|gfni|vpclmul|movbe|adx|abm|lzcnt|popcnt|asimd|sve|neon)")
    return tuple(sorted(w for w in line.split(":", 1)[1].split() if sets.match(w)))
