"""Keeps compiled libraries, by a hash of everything that they were made from.

An entry is a folder that is made elsewhere and renamed into place. So it is either complete or absent, even if several
processes make it at the same time. If all entries together exceed KILN_CACHE_BYTES (4 GB), the oldest ones are
removed."""
import atexit
import os
import shutil
import tempfile
import time

from . import errors


def folder() -> str:
    """Returns the cache's folder: KILN_CACHE, or kiln/python in XDG_CACHE_HOME or ~/.cache."""
    top = os.environ.get("XDG_CACHE_HOME", "")
    top = top if os.path.isabs(top) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("KILN_CACHE") or os.path.join(top, "kiln", "python")


def _writable():
    try:
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        return tempfile.mkdtemp(prefix="new-", dir=folder())
    except OSError as e:
        errors.warn("nothing is kept: %s" % e)
        return None


def _for_this_process():
    made = tempfile.mkdtemp(prefix="kiln-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _size(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


def _trim(but):
    """Removes the entries used longest ago, and folders that killed processes left behind more than a day ago."""
    found = []
    for name in os.listdir(folder()):
        entry = os.path.join(folder(), name)
        try:
            found.append((os.path.getmtime(entry), _size(entry), entry))
        except OSError:                                # another process has removed it
            continue
    left = sum(size for _, size, _ in found) - int(os.environ.get("KILN_CACHE_BYTES") or 4 << 30)
    for used, size, entry in sorted(found):
        fresh = entry == but or time.time() - used < 60
        stale = os.path.basename(entry).startswith("new-") and time.time() - used > 86400
        if stale or (left > 0 and not fresh):
            shutil.rmtree(entry, ignore_errors=True)
            left -= size


def get(key, make, keep=True):
    """Returns the folder of this key's entry. If there is none, make(FOLDER) fills it; exceptions of make are passed
    on. If keep is False, a new folder is made in any case, and lives as long as this process."""
    entry = os.path.join(folder(), key)
    if keep and os.path.isdir(entry):
        try:
            os.utime(entry)
        except OSError:
            pass
        return entry
    made = _writable() if keep else None
    if not made:
        made = _for_this_process()
        make(made)
        return made
    try:
        make(made)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    try:
        os.rename(made, entry)
    except OSError:                                    # another process was first
        shutil.rmtree(made, ignore_errors=True)
        if not os.path.isdir(entry):
            raise
    _trim(entry)
    return entry


def clear() -> None:
    """Removes all entries. Loaded models stay usable."""
    shutil.rmtree(folder(), ignore_errors=True)
