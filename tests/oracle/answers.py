#!/usr/bin/python3
"""tests/oracle/answers.py - writes into tests/ops/answers.txt what PyTorch says to the calls in it"""
import os, subprocess, sys, warnings
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ops"))
if len(sys.argv) == 1: sys.argv.append("")
from answers_test import ANSWERS, calls, raised, source


def said(call):
    p = subprocess.run([sys.executable, __file__, call], capture_output=True, text=True)
    return [line.rstrip() for line in p.stdout.splitlines()]


if sys.argv[1]:
    warnings.simplefilter("ignore")
    try: torch.jit.CompilationUnit(source(sys.argv[1])).forward()
    except Exception as e: print("\n".join(raised(str(e))))
    sys.exit()
with open(ANSWERS + ".new", "w") as f:
    for call, _ in calls():
        print(call, *("    " + line for line in said(call)), sep="\n", file=f)
os.rename(ANSWERS + ".new", ANSWERS)
