#!/usr/bin/env python3
"""Rooms that depend on each other one way, and lines of C: rooms_test.py BUILD/kiln, which names the folder with the
object files.

Of codegen's folders, kernel uses neither program nor cli, program does not use cli; within kernel no two files use each
other, not through others either.  Who uses whom is read from the symbols of the objects.
"""
import collections, glob, os, re, subprocess, sys, unittest

BUILD = os.path.dirname(sys.argv.pop(1))
ORDER = ["kernel", "program", "cli"]


def sources(folder):
    return sorted(glob.glob(f"codegen/{folder}/*.c"))


def symbols(source):
    """Names that an object defines, names that it wants."""
    text = subprocess.run(["nm", f"{BUILD}/{source[:-2]}.o"], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {r[2] for r in rows if len(r) == 3 and r[1] in "TDBRC"}, {r[1] for r in rows if len(r) == 2 and r[0] == "U"}


def uses(files):
    """By file: the others that it uses, with a name of each."""
    known = {f: symbols(f) for f in files}
    home = {name: f for f in files for name in known[f][0]}
    out = collections.defaultdict(dict)
    for f in files:
        for name in known[f][1]:
            if home.get(name, f) != f: out[f][home[name]] = name
    return out


def circle(edges):
    """Files in a circle, or None."""
    done, path = set(), []

    def visit(f):
        if f in path: return path[path.index(f):] + [f]
        if f in done: return None
        path.append(f)
        for g in edges.get(f, ()):
            if found := visit(g): return found
        path.pop()
        done.add(f)
        return None

    for f in list(edges):
        if found := visit(f): return found
    return None


class Rooms(unittest.TestCase):
    def test_folders(self):
        edges = uses([f for d in ORDER for f in sources(d)])
        self.assertGreater(len(edges), 60)
        for f, others in edges.items():
            for g, name in others.items():
                self.assertLessEqual(ORDER.index(g.split("/")[1]), ORDER.index(f.split("/")[1]), f"{f} uses {name} of {g}")

    def test_no_circles_among_kernels(self):
        edges = uses(sources("kernel"))
        self.assertGreater(len(edges), 20)
        self.assertIsNone(circle(edges))

    def test_no_operator_names_in_kernels(self):
        """What an operator is, its row says (LOWER in rt/ops/ops.h); "prim::Constant" and its like are kinds of nodes."""
        for f in sources("kernel"):
            with open(f) as text: found = re.search(r'.*"(aten|quantized|torchvision)::\w.*|.*(str\w*cmp|strstr)\([^;]*op->id.*', text.read())
            self.assertIsNone(found, f"{f}: {found and found[0]}")

    def test_columns(self):
        """C is at most 120 columns wide; a tab goes to the next eighth."""
        files = [f for e in "ch" for f in glob.glob(f"**/*.{e}", recursive=True) if not f.startswith("build")]
        self.assertGreater(len(files), 400)
        wide = []
        for f in files:
            with open(f) as text: wide += [f"{f}:{n}" for n, line in enumerate(text, 1) if len(line.rstrip("\n").expandtabs(8)) > 120]
        self.assertEqual([], wide)

    def test_circle_is_found(self):
        self.assertEqual(circle({"a": ["b"], "b": ["c"], "c": ["b"]}), ["b", "c", "b"])
        self.assertIsNone(circle({"a": ["b", "c"], "b": ["c"]}))


if __name__ == "__main__":
    unittest.main()
