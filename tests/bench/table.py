"""Prints figures of compiled models: nodes, guards, kernels, and remaining calls of the runtime.

usage: table.py [--json] KILN CASE...        folders with model.pt and 1.in.npz; one line each, of a table in Markdown or of JSON

nodes      of the prepared graph, and of the specialized one after all passes (a group of pointwise operators is one node)
guards     inserted: tensors of the prepared graph, each of which a profiling executor guards at every use;
           coalesced: guards of arguments, which are one condition at entry; eliminated: guards that follow from others and were
           not made; moved: always 0, since a guard is made right after the node of its value; left: guards in the program
kernels    launches of generated code; calls: of the runtime's kernels and of operators that make containers
"""
import json, os, re, subprocess, sys, tempfile

NODE = re.compile(r"^ *(.* = )?(\w+::\w+)[\[(]")
TENSOR = re.compile(r"%[\w.]+ : (Tensor\b(?!\[|\?)|(Float|Double|Half|BFloat16|Long|Int|Short|Char|Byte|Bool)\()")


def graph(kiln, case, stage):
    text = subprocess.run([kiln, "show", case + "/model.pt", "-i", case + "/1.in.npz", "--stage", stage], capture_output=True,
                          text=True, check=True).stdout
    head, _, rest = text.partition("):\n")
    rest = rest.partition("\n  return (")[0]                   # groups' graphs follow it
    nodes = [(m.group(2), m.group(1) or "") for m in map(NODE.match, rest.split("\n")) if m]
    return head, [n for n in nodes if n[0] != "prim::Constant"]


def row(kiln, case):
    head, before = graph(kiln, case, "prepared")
    special = graph(kiln, case, "specialized")[1]
    after = graph(kiln, case, "optimized")[1]
    made = sum(n[0] == "prim::BailOut" for n in special)
    arguments = len(TENSOR.findall(head))
    inserted = arguments + sum(len(TENSOR.findall(n[1])) for n in before)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([kiln, "build", case + "/model.pt", "-i", case + "/1.in.npz", "--emit", "c", "--name", "p", "-o", folder + "/c"],
                       capture_output=True, text=True, check=True)
        with open(folder + "/c/p.c") as f:
            text = f.read()
    kernels, calls, guards = map(int, re.search(r"(\d+) kernels, (\d+) runtime calls, (\d+) guards inside", text).groups())
    name = os.path.basename(case.rstrip("/"))
    return [name, len(before), len(after), inserted, 0, arguments, inserted - made - arguments, guards, kernels, calls]


COLUMNS = ["model", "nodes before", "after", "guards inserted", "moved", "coalesced", "eliminated", "left", "kernels", "calls"]


def say(cells, as_json):
    print(json.dumps(dict(zip(COLUMNS, cells))) if as_json else "| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    as_json = "--json" in sys.argv
    kiln, *cases = [a for a in sys.argv[1:] if a != "--json"] or sys.exit(__doc__)
    if not as_json:
        say(COLUMNS, False)
        print("| --- |" + " ---: |" * 9)
    for case in cases:
        try:
            say(row(kiln, case), as_json)
        except subprocess.CalledProcessError as e:
            say([os.path.basename(case.rstrip("/")), e.stderr.strip().split("\n")[0][:80]], as_json)


if __name__ == "__main__":
    main()
