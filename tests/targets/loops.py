"""The innermost loops of an object's functions, as objdump prints them, and llvm-mca's analysis of them.

usage: loops.py OBJECT CPU [FUNCTION...]     aarch64; of each function the loop that multiplies most: instructions, cycles
"""
import re, subprocess, sys

BRANCH = re.compile(r"b\.\w+|b|cbn?z|tbn?z|b(eq|ne|[gl][te]|hi|ls|c[cs])(\.[nw])?")       # branches of aarch64 and ARM
MULTIPLIES = "fmla", "fmls", "sdot", "vfma.f32", "vmla.f32"


def functions(path, objdump="aarch64-linux-gnu-objdump"):
    """For each function: its name and its instructions as (address, mnemonic, operands)."""
    out = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]+ <.*>:\n)", out)[1:]:
        name = re.match(r"[0-9a-f]+ <(.*)>:", part)[1]
        yield name, [(int(a, 16), op, rest.split("//")[0].strip())
                     for a, op, rest in re.findall(r"^ +([0-9a-f]+):\t(\S+)[ \t]*(.*)$", part, re.M)]


def loops(code):
    """The innermost loops of a function."""
    ends = []
    for at, op, operands in code:
        to = re.search(r"\b([0-9a-f]+) <", operands)
        if BRANCH.fullmatch(op) and to and int(to[1], 16) <= at:
            ends.append((int(to[1], 16), at))
    for first, last in ends:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in ends):
            yield [c for c in code if first <= c[0] <= last]


def multiplications(loop):
    return sum(op in MULTIPLIES for _, op, _ in loop)


def hottest(path, *objdump):
    """{function: its loop with the most multiplications}. Of equal loops the shortest, so that loops for edges are left out."""
    found = {name: max(loops(code), key=lambda loop: (multiplications(loop), -len(loop)), default=[]) for name, code in functions(path, *objdump)}
    return {name: loop for name, loop in found.items() if multiplications(loop)}


def cycles(loop, cpu, mca="llvm-mca-19", times=200):
    text = "again:\n" + "".join("\t%s %s\n" % (op, re.sub(r"[0-9a-f]+ <.*>", "again", rest)) for _, op, rest in loop)
    out = subprocess.run([mca, "-march=aarch64", "-mcpu=" + cpu, "-mattr=+dotprod", "-iterations=%d" % times], input=text, stdout=subprocess.PIPE,
                         text=True, check=True).stdout
    return int(re.search(r"Total Cycles: +(\d+)", out)[1]) / times


if __name__ == "__main__":
    for name, loop in sorted(hottest(sys.argv[1]).items()):
        if not sys.argv[3:] or name in sys.argv[3:]:
            n, took = multiplications(loop), cycles(loop, sys.argv[2])
            print("%-28s %3d instructions, %3d multiply, %6.1f cycles, %.2f a cycle" % (name, len(loop), n, took, n / took))
