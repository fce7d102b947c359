#!/usr/bin/env python3
"""Checks that archives in the tree refer to their sources by paths in the tree, not by absolute paths.

  tests/paths.py [--mend] FILE.pt...

PyTorch records the absolute path of each source line. An absolute path is an error unless it is below /usr/ or names no file.
--mend shortens it to the part from `samples/` or `tests/` on, or to the file's name. Data stay aligned to 64 bytes, as PyTorch
aligns them.
"""
import re, struct, sys, zipfile

PATH = re.compile(rb"X(....)(/(?!usr/)[^\0-\x1f\"<>]*?\.py)(?=[q\x94r.])", re.S)      # BINUNICODE strings of a pickle


def relative(path):
    at = [path.rfind(b"/" + top + b"/") for top in (b"samples", b"tests")]
    return path[max(max(at), path.rfind(b"/") if max(at) < 0 else -1) + 1:]


def paths(data):
    return [m for m in PATH.finditer(data) if struct.unpack("<I", m[1])[0] == len(m[2])]


def mended(data):
    for m in reversed(paths(data)):
        name = relative(m[2])
        data = data[:m.start()] + b"X" + struct.pack("<I", len(name)) + name + data[m.end():]
    return data


def mend(path):
    with zipfile.ZipFile(path) as z:
        members = [(i, z.read(i)) for i in z.infolist()]
    with open(path, "wb") as f, zipfile.ZipFile(f, "w") as z:
        for old, data in members:
            new = zipfile.ZipInfo(old.filename, old.date_time)
            new.compress_type, new.external_attr = old.compress_type, old.external_attr
            pad = -(f.tell() + 30 + len(new.filename.encode()) + 4) % 64
            new.extra = struct.pack("<2sH", b"FB", pad) + b"Z" * pad
            z.writestr(new, mended(data))


def main(args):
    bad = 0
    for path in (a for a in args if a != "--mend"):
        with zipfile.ZipFile(path) as z:
            found = sorted({m[2].decode() for i in z.infolist() for m in paths(z.read(i))})
        if found and "--mend" in args:
            mend(path)
        elif found:
            bad += 1
            print(f"{path}: names {', '.join(found)}")
    return bad > 0


sys.exit(main(sys.argv[1:]))
