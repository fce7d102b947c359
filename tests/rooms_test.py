#!/usr/bin/env python3
"""Dependencies between folders and files, which must go one way, and limits of lines of C: rooms_test.py BUILD/kiln, which names
the folder with the object files.

Of codegen's folders, kernel uses neither program nor cli, and program does not use cli. Within a folder, files depend on each
other in one direction, except in the cycles that CIRCLES counts. Dependencies are read from the symbols of the object files.
"""
import collections, glob, os, pathlib, re, subprocess, sys, unittest

BUILD = os.path.dirname(sys.argv.pop(1))
ORDER = ["kernel", "program", "cli"]
FOLDERS = ["ir", "frontend/script", "frontend/archive", "opt/passes", "opt/grad", "opt/special", "opt/trace",
           "codegen/kernel", "codegen/program", "codegen/cli", "rt", "rt/ops"]
# Number of operators of aten that C code compares nodes with (ir/kinds.def). It may only fall: a property that several operators
# share is a trait in the operator table.
KINDS = 92
# Number of searches in text, by file of the compiler. It may only fall: a fact about an operator is a column of the operator
# table, and a fact about emitted code is a struct member.
SEARCHES = {"codegen/kernel/element.c": 4, "codegen/kernel/print_rows.c": 1, "codegen/program/bare.c": 2,
            "codegen/program/cgen_box.c": 2, "ir/codeinsn.c": 1, "ir/op.c": 6, "ir/pyprint.c": 1, "opt/trace/way.c": 1}
# Files of tables of which a program may define its own version with fewer entries. A reader of a table does not count as using
# the file.
TABLES = {"rt/all.c", "rt/casts.c", "rt/ops/parts.c"}
# Number of files in dependency cycles. It may only fall. In frontend/script the cycle is the recursive descent over statements
# and expressions.
CIRCLES = {"frontend/script": 20, "rt": 16, "rt/ops": 3}
# Names of static functions that stand in more than COMMON_FILES files. The number may only fall: such a name says too little.
COMMON_FILES, COMMON_NAMES = 3, 0
# Members of one letter that refer to another struct. The number may only fall. Letters are for counts (n) and for geometry and
# formulas: sizes, strides, coordinates and operands, whose types GEOMETRY lists, and numbers.
LETTERS, GEOMETRY = 16, {"RtTensor", "Value", "IValue", "Ref", "Size", "Stack", "T", "Z", "RtC128", "RtHead", "VcConv", "ViConv"}
MEMBER = re.compile(r"^\s*(?:(?:const|struct) )*([A-Z]\w*) *\*? *(?:\w+, \*?)*([a-z])(?=[,;\[])", re.M)
STATIC = re.compile(r"^static\b[^;={]*?\n(\w+)\(|^static [^\n;=(]*?\b(\w+)\([^;\n]*\)\s*\{", re.M)


def sources(folder):
    return sorted(glob.glob(f"{folder}/*.c"))


def symbols(files):
    """For each file: the names that its object defines and the names that it needs."""
    names = {f"{BUILD}/{f[:-2]}.o": (set(), set()) for f in files}
    for line in subprocess.run(["nm", "-A", *names], check=True, capture_output=True, text=True).stdout.splitlines():
        path, row = line.split(":", 1)
        *_, kind, name = row.split()
        if kind in "TDBRC": names[path][0].add(name)
        elif kind == "U": names[path][1].add(name)
    return dict(zip(files, names.values()))


def uses(files):
    """For each file: the other files that it uses, with an example name of each."""
    known = symbols(files)
    home = {name: f for f in files if f not in TABLES for name in known[f][0]}
    out = collections.defaultdict(dict)
    for f in files:
        for name in known[f][1]:
            if home.get(name, f) != f: out[f][home[name]] = name
    return out


def circles(edges):
    """Groups of files that all depend on each other, directly or through others."""
    found, seen, low, stack = [], {}, {}, []

    def visit(f):
        seen[f] = low[f] = len(seen)
        stack.append(f)
        for g in edges.get(f, ()):
            if g not in seen: visit(g)
            if g in stack: low[f] = min(low[f], low[g])
        if low[f] == seen[f]:
            group = stack[stack.index(f):]
            del stack[-len(group):]
            if len(group) > 1: found.append(group)

    for f in list(edges):
        if f not in seen: visit(f)
    return found


class Rooms(unittest.TestCase):
    def test_folders(self):
        edges = uses([f for d in ORDER for f in sources("codegen/" + d)])
        self.assertGreater(len(edges), 60)
        for f, others in edges.items():
            for g, name in others.items():
                self.assertLessEqual(ORDER.index(g.split("/")[1]), ORDER.index(f.split("/")[1]), f"{f} uses {name} of {g}")

    def test_no_circles(self):
        """Files of a folder that depend on each other in a cycle: at most the number in CIRCLES."""
        for folder in FOLDERS:
            files = sources(folder)
            self.assertGreater(len(files), 3, folder)
            found = circles(uses(files))
            with self.subTest(folder):
                self.assertEqual(sum(map(len, found)), CIRCLES.get(folder, 0), found)

    def test_no_operator_names_in_kernels(self):
        """Facts about operators are in the operator table (LOWER in rt/ops/ops.h). Names like "prim::Constant" are kinds of
        nodes."""
        for f in sources("codegen/kernel"):
            with open(f) as text: found = re.search(r'.*"(aten|quantized|torchvision)::\w.*|.*(str\w*cmp|strstr)\([^;]*op->id.*', text.read())
            self.assertIsNone(found, f"{f}: {found and found[0]}")

    def test_kinds(self):
        names = re.findall(r"KIND\(aten, (\w+)\)", pathlib.Path("ir/kinds.def").read_text())
        self.assertEqual(KINDS, len(names))
        code = "".join(pathlib.Path(f).read_text() for room in ("ir", "opt/*", "frontend/*", "codegen/*") for f in glob.glob(f"{room}/*.c"))
        self.assertEqual([], [name for name in names if not re.search(rf"\baten_{name}\b", code)], "not used")

    def test_no_fact_by_text(self):
        """Operators are told apart by ROW_ numbers and traits, kinds of nodes by symbols."""
        found, searches = [], {}
        for f in (f for room in ("ir", "opt/*", "codegen/*") for f in glob.glob(f"{room}/*.c")):
            code = pathlib.Path(f).read_text()
            found += [f"{f}: {m[0]}" for m in re.finditer(r"str\w*cmp\([^;()]*->(id|kind->name)\b[^;]*", code) if '"aten::"' not in m[0]]
            if f.startswith(("ir/", "opt/", "codegen/kernel/", "codegen/program/bare", "codegen/program/cgen")) and "strstr(" in code:
                searches[f] = code.count("strstr(")
        self.assertEqual([], found)
        self.assertEqual(SEARCHES, searches)

    def test_columns(self):
        """Lines of C and .def files have at most 120 columns, with tab stops every 8 columns."""
        files = [f for e in ("c", "h", "def") for f in glob.glob(f"**/*.{e}", recursive=True) if not f.startswith("build")]
        self.assertGreater(len(files), 400)
        wide = []
        for f in files:
            with open(f) as text: wide += [f"{f}:{n}" for n, line in enumerate(text, 1) if len(line.rstrip("\n").expandtabs(8)) > 120]
        self.assertEqual([], wide)

    def test_build_lists(self):
        """build.ninja lists each file of a folder once, sorted by folder and name, and has each object in one library."""
        lists = pathlib.Path("build.ninja").read_text().split("# ---- what kiln carries")[0]
        files = re.findall(r"^build \$b/(\S+)\.o: \w+ \1\.c$", lists, re.M)
        members = re.findall(r"^  \$b/(\S+)\.o", lists, re.M)
        for room in ("rt", "ir", "frontend", "opt", "codegen"):
            mine = [f for f in files if f.startswith(room + "/")]
            self.assertEqual(sorted(mine, key=lambda f: f.rsplit("/", 1)), mine)
            known = glob.glob(f"{room}/*.c") + (glob.glob(f"{room}/*/*.c") if room != "rt" else [])
            self.assertEqual(sorted(known), sorted(f + ".c" for f in mine))
        self.assertEqual(sorted(set(files) - {"codegen/cli/main"} | {"rt/ops/variant"}), sorted(members))

    def test_common_names(self):
        """Static function names defined in many files: at most COMMON_NAMES names. N(name) of the loops is a macro."""
        home = collections.defaultdict(set)
        for f in glob.glob("**/*.[ch]", recursive=True):
            if f.split("/")[0] not in ("codegen", "frontend", "ir", "opt", "rt"): continue
            with open(f) as text: found = STATIC.findall(text.read())
            for name in found: home[name[0] or name[1]].add(f)
        self.assertGreater(len(home), 4000)
        common = {name: sorted(files) for name, files in home.items() if len(files) > COMMON_FILES and name != "N"}
        self.assertLessEqual(len(common), COMMON_NAMES, sorted(common.items()))

    def test_letters(self):
        """One-letter members that refer to a struct with a name of its own: at most LETTERS."""
        found = []
        for f in glob.glob("**/*.[ch]", recursive=True):
            if f.split("/")[0] not in ("codegen", "frontend", "ir", "opt", "rt"): continue
            with open(f) as text: code = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
            for name, body in re.findall(r"\bstruct (\w*) *\{([^{}]*)\}", code):
                found += [f"{f}: {name}.{letter}" for kind, letter in MEMBER.findall(body.replace("; ", ";\n"))
                          if kind not in GEOMETRY and letter != "n"]
        self.assertLessEqual(len(found), LETTERS, "\n".join(found))

    def test_circle_is_found(self):
        self.assertEqual(circles({"a": ["b"], "b": ["c"], "c": ["d"], "d": ["b"]}), [["b", "c", "d"]])
        self.assertEqual(circles({"a": ["b", "c"], "b": ["c"]}), [])


if __name__ == "__main__":
    unittest.main()
