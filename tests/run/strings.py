def forward():
    s = "Hello, World"
    print(s.capitalize(), s.title(), s.lower(), s.upper(), s.swapcase())
    print(s.center(20, '*'), s.ljust(20, '.'), s.rjust(20, '.'), s.zfill(20))
    print(s.count("o"), s.count("l", 3), s.count("l", 3, 8), s.find("o"), s.find("o", 5), s.find("zz"), s.rfind("o"), s.index("W"), s.rindex("o"))
    print(s.startswith("He"), s.endswith("ld"), s.startswith("l", 2), s.endswith("lo", 0, 5))
    print(s.replace("l", "LL"), s.replace("l", "LL", 2), s.split(","), s.split(), "a  b c".split(), "a,b,,c".split(","), "a,b,c,d".split(",", 2), "a b c d".rsplit(" ", 2))
    print("a\nb\r\nc".splitlines(), "a\nb\n".splitlines(True))
    print("  x ".strip(), "xxhixx".strip("x"), "xxhi".lstrip("x"), "hixx".rstrip("x"))
    print(",".join(["a", "b"]), "abc".isalpha(), "abc1".isalnum(), "12".isdigit(), "1.2".isdecimal(), "12".isnumeric(), "abc".islower(), "ABC".isupper(), " ".isspace(), "Abc Def".istitle(), "abc".isidentifier(), "a\n".isprintable())
    print("a-b-c".partition("-"), "a-b-c".rpartition("-"), "a\tb".expandtabs(4))
    print(s[0], s[-1], s[1:4], s[::2], s[-3:], s[10:2], s[::1])
    print(len(s), "World" in s, "x" in s, s + "!", s == "Hello, World", s != "x", s < "Z", s > "A", s <= "Z", s >= "Z")
    print(ord("a"), chr(97), hex(255), oct(8), bin(5), int("12"), float("1.5"), str(3), str(2.5), str(True))
    for c in "abc":
        print(c)
    print("{} and {}".format(1, 2.5), "{}{}".format("a", [1, 2]), "%s %d %f %5.2f" % ("a", 3, 1.5, 2.25), "%r %i %x %o %e %g %c %%" % ("a", 3, 255, 8, 1.5, 2.5, "z"))
# ---
# Hello, world Hello, World hello, world HELLO, WORLD hELLO, wORLD
# ****Hello, World**** Hello, World........ ........Hello, World 00000000Hello, World
# 2 2 1 4 8 -1 8 7 8
# True True True True
# HeLLLLo, WorLLd HeLLLLo, World [Hello,  World] [Hello,, World] [a, b, c] [a, b, , c] [a, b, c,d] [a b, c, d]
# [a, b, , c] [a,
# , b,
# ]
# x hi hi hi
# a,b True True True False True True True True True True False
# (a, -, b-c) (a-b, -, c) a   b
# H d ell Hlo ol rld  Hello, World
# 12 True False Hello, World! True True True True True False
# 97 a 0xff 0o10 0b101 12 1.5 3 2.5 True
# a
# b
# c
# error: Traceback of TorchScript (most recent call last):
#   File "run/strings.py", line 17, in forward
#     print("{} and {}".format(1, 2.5), "{}{}".format("a", [1, 2]), "%s %d %f %5.2f" % ("a", 3, 1.5, 2.25), "%r %i %x %o %e %g %c %%" % ("a", 3, 255, 8, 1.5, 2.5, "z"))
#                                                                   ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: The specifier %5 is not supported in TorchScript format strings
