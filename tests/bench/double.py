#!/usr/bin/env python3
"""Measures how far programs are from the same computation in double, compared with PyTorch's recorded answers. By hand; needs
numpy.

    tests/bench/double.py [--kiln build/kiln] [--cc CC] [--interpret] [--limit SECONDS] [--only TEXT] [--part K/N] [--json FILE] CASES...

CASES are folders of cases (model.pt, N.in.npz, N.out.npz; also those of models/wide.py) or .tar.xz of such. A program is built
for the first input of each case, and compared on all inputs with the bound of `kiln check --double --reference`. With
--interpret the interpreter runs instead. The line of a case has the largest errors of the program, of the interpreter and of
PyTorch, and the ratio of program to PyTorch. An error below that of rounding the largest element to float32 counts as 6e-8. At
the end come the cases over their bounds, those that decide differently in double, those that could not be compared, the median
and the worst ratio, and the number of cases within their bounds.
"""
import argparse, json, os, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import calls, cases

UNIT = 2 ** -24


def said(argv, limit):
    """Returns the exit status, standard output, and the last line of standard error."""
    try:
        p = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return -1, "", f"no end within {limit} s"
    return p.returncode, p.stdout, (p.stderr.strip().split("\n") or [""])[-1][:160]


def judged(a, case, meta, tmp):
    """Returns the report of check --double for each input. Returns a text if there is no report: the reason."""
    model, prog = case + "/model.pt", os.path.join(tmp, "prog")
    given = list(calls(case))[:1 if meta.get("sequence") else None]
    if not a.interpret:
        rc, _, err = said([a.kiln, "build", model, "-i", given[0][1], "-o", prog] + (["--cc", a.cc] if a.cc else []), a.limit)
        if rc:
            return "build: " + err
    argv = [a.kiln, "check", "--double", "--json", model] + ([] if a.interpret else [prog])
    for _, put, out in given:
        argv += ["-i", put, "--reference", out]
    rc, out, err = said(argv, a.limit)
    return json.loads(out) if out.strip().endswith("]") else f"status {rc}: {err}"


def worst(answers, who):
    """Returns the largest error of the results of `who`. Infinite where only one of the two values is finite."""
    all_ = [r[who] for x in answers for r in x.get("results", []) if who in r]
    return max((float("inf") if e is None else e for e in all_), default=None)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--kiln", default="build/kiln")
    p.add_argument("--cc")
    p.add_argument("--interpret", action="store_true")
    p.add_argument("--limit", type=float, default=600)
    p.add_argument("--only", default="")
    p.add_argument("--part", default="0/1", type=lambda s: [int(x) for x in s.split("/")])
    p.add_argument("--json")
    p.add_argument("cases", nargs="+")
    a = p.parse_args()
    ratios, over, decisions, others, rows, within = [], [], [], [], [], 0
    with tempfile.TemporaryDirectory() as tmp:
        for i, top in enumerate(a.cases):
            if top.endswith(".tar.xz"):
                a.cases[i] = os.path.join(tmp, os.path.basename(top).split(".")[0])
                os.mkdir(a.cases[i])
                subprocess.run(["tar", "-C", a.cases[i], "-xJf", top], check=True)
        print("| case | program | interpreter | PyTorch | program / PyTorch |\n| --- | ---: | ---: | ---: | ---: |")
        for case, meta in cases(a.cases, a.only, *a.part):
            name = os.path.basename(case)
            if "error" in meta:
                continue
            answers = judged(a, case, meta, tmp)
            rows.append({"case": name, "answers": answers})
            if isinstance(answers, str):
                others.append(f"{name}: {answers}")
                continue
            within += all(x["answer"] in ("within the bound", "both raise") for x in answers)
            for x in answers:
                if x["answer"] == "over the bound":
                    over.append(name)
                elif x["answer"].startswith("decides"):
                    decisions.append(f"{name}: {x['why']}")
                elif x["answer"] not in ("within the bound", "both raise"):
                    others.append(f"{name}: {x['answer']}: {x['why']}")
            own, ours, theirs = (worst(answers, who) for who in ("program", "interpreter", "reference"))
            mine = ours if a.interpret else own
            if mine is None or theirs is None:
                continue
            ratios.append((max(mine, UNIT) / max(theirs, UNIT) if mine < float("inf") else 1 if mine == theirs else mine, name))
            print(f"| {name} | {'' if own is None else f'{own:.2g}'} | {ours:.2g} | {theirs:.2g} | {ratios[-1][0]:.2f} |", flush=True)
    ratios.sort()
    for title, found in (("over the bound", sorted(set(over))), ("decide otherwise in double", decisions), ("not compared", others)):
        print(f"\n{len(found)} {title}" + "".join("\n  " + line for line in found))
    if ratios:
        print(f"\nmedian {ratios[len(ratios) // 2][0]:.2f}, worst {ratios[-1][0]:.2f} ({ratios[-1][1]})")
    print(f"{within} of {len(rows)} within their bounds")
    if a.json:
        with open(a.json, "w") as f:
            json.dump(rows, f, indent=1)
    sys.exit(bool(over or others))


if __name__ == "__main__":
    main()
