"""Expressions without tensors: the text that PyTorch 1.13 prints for each, including the effects of its bugs.

usage: values_test.py KILN
"""
import subprocess, sys, tempfile, os

# expression | printed text
CASES = r"""
"hello".find("l",10,-1)|-1
"hello".rfind("")|5
"abab".count("ab",0,2)|1
"abc".startswith("b",1,0)|True
"ab".center(5," ")|  ab 
"abc".center(6,"*")|*abc**
"--1".zfill(6)|000--1
"-12".zfill(5)|00-12
"aaa".replace("a","b",2)|bba
" a b  c ".split(None,1)|[a, b, c]
"a,b,,c".rsplit(",",2)|[a,b, , c]
"a-b-c".rpartition("-")|(a-b, -, c)
"hello WORLD 3a it's".title()|Hello World 3A It'S
"hello"[::2]|hlo
"hello"[-3:]|llo
-7 // 2|-4
7.5 // -2.0|-4.
-7 % 3|2
divmod(-7,2)|(-4, 1)
2 ** 3|8.
7 / 2|3.5
round(2.5)|2.
[1,2,3,4][::-1]|[4, 3, 2, 1]
[1,2,3,4][3:0:-2]|[4, 2]
[1,2]*2|[1, 2, 1, 2]
sorted([3,1,2])|[1, 2, 3]
min([3,1,2])|1
max(2,3.5)|3.5
"%d %s" % (1,"a")|1 a
"%f %e" % (2.5,1500.0)|2.500000 1.500000e+03
"{} {}".format(1,2.0)|1 2.
hex(-255)|-0xff
bin(5)|0b101
ord("a")|97
float("1.5")|1.5
int("12")|12
sum([1,2,3])|6
3 in [1,2,3]|True
abs(-3)|3
len({"a":1})|1
list({"a":1}.keys())|[a]
{"a":1}.items()|[(a, 1)]
{"a":1}.get("b",5)|5
"""


def main(kiln):
    bad = 0
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "value.py")
        for line in CASES.strip("\n").split("\n"):
            expression, want = line.rsplit("|", 1)
            with open(path, "w") as f:
                f.write("def forward():\n    return " + expression + "\n")
            p = subprocess.run([kiln, "run", path], capture_output=True, text=True, timeout=20)
            got = p.stdout.rstrip("\n") if p.returncode == 0 else p.stderr.rstrip("\n")
            if got != want:
                bad += 1
                print(f"{expression} is {got!r}, not {want!r}")
    return bad > 0


sys.exit(main(sys.argv[1]))
