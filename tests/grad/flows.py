#!/usr/bin/python3
"""tests/grad/flows.py COUNT - prints COUNT random functions r0, r1, ... of two vectors, the same ones on each run

They write to tensors in ways that do not count for gradients: in no_grad and by .data or detach(), in loops and branches, on
views of views, through lists, tuples and dicts. tests/grad/random_flows.txt calls them."""
import sys

VECTORS = ["{0} + 1", "{0} * 2", "{0} / 2", "-{0}", "{0} + {1}", "{0} * {1}", "{0} - {1}", "torch.relu({0})", "{0}.sigmoid()",
           "{0}.tanh()", "{0}.exp()", "{0}.sin()", "{0}.abs().sqrt()", "torch.minimum({0}, {1})", "{0}.clone()", "{0}.data",
           "{0}.detach()", "{0}.detach().clone()", "torch.zeros_like({0})", "{0}.contiguous()", "{0}.double()", "{0}[0:3]",
           "{0}.to(torch.float64)", "{0}.type_as({1})", "{0}.view_as({1})", "{0}.reshape(3)", "{0}.flatten()", "{0}.squeeze()",
           "{0}.view(1, 3)[0]", "{0}.unsqueeze(0).squeeze(0)", "torch.einsum('i->i', {0})"]
MATRICES = ["torch.stack([{0}, {1}])", "torch.zeros(2, 3, dtype=torch.float64)", "torch.ones_like(torch.stack([{0}, {1}]))",
            "{0}.repeat(2, 1)", "{0}.expand(2, 3).clone()"]
FROM_MATRIX = ["{0}.clone()", "{0}.permute(1, 0).permute(1, 0)", "{0}.transpose(0, 1).transpose(0, 1)"]
ROWS = ["{0}[0]", "{0}.unbind(0)[1]", "{0}.chunk(2)[0].view(3)", "{0}.narrow(0, 0, 1).squeeze(0)"]
VECTOR_PARTS = ["{0}", "{0}[1:]", "{0}[:2]", "{0}[0]", "{0}.view(1, 3)[0]", "{0}.view(3, 1)[1]"]
MATRIX_PARTS = ["{0}", "{0}[0]", "{0}[1:]", "{0}.view(6)[:2]", "{0}.t()[1]"]
UNSEEN = ["{0}", "{0}", "{0}.data", "{0}.detach()"]
WRITES = ["{0}.add_({1})", "{0}.sub_({1})", "{0}.mul_({1})", "{0}.fill_({1})", "{0}.zero_()", "{0}.neg_()", "{0}.exp_()",
          "{0}.tanh_()", "torch.relu_({0})", "{0}.copy_({0} * 0.5)", "{0}.masked_fill_({0} > 1, 0.5)",
          "{0}.mul_({0} + 1)", "{0}.addcmul_({0} * 0.5, {0} * 0.5)"]
NUMBERS = ["0.5", "1.25", "2.0", "3.0", "-1.5"]


class Random:
    """A generator of its own, since that of Python may differ between versions (Knuth's MMIX)."""
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def of(self, items):
        return items[self.below(len(items))]


class Function:
    def __init__(self, seed):
        self.random, self.lines, self.indent, self.made = Random(seed), [], 1, 0
        self.vectors, self.matrices = ["x", "y"], []
        self.graded = True               # whether gradients are recorded

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def name(self, letter="v"):
        self.made += 1
        return "%s%d" % (letter, self.made)

    def vector(self):
        return self.random.of(self.vectors)

    def value(self):
        """Adds a new vector or matrix."""
        kind, to = self.random.below(10), self.name()
        if kind < 2 or (kind < 4 and not self.matrices):
            self.line("%s = %s" % (to, self.random.of(MATRICES).format(self.vector(), self.vector())))
            self.matrices.append(to)
        elif kind == 2:
            self.line("%s = %s" % (to, self.random.of(FROM_MATRIX).format(self.random.of(self.matrices))))
            self.matrices.append(to)
        elif kind == 3:
            self.line("%s = %s" % (to, self.random.of(ROWS).format(self.random.of(self.matrices))))
            self.vectors.append(to)
        else:
            self.line("%s = %s" % (to, self.random.of(VECTORS).format(self.vector(), self.vector())))
            self.vectors.append(to)

    def write(self):
        """Writes to a part of a value. Where gradients are recorded, the arguments stay as they are: they are leaves."""
        whole = self.random.of(self.vectors + self.matrices)
        part = self.random.of(MATRIX_PARTS if whole in self.matrices else VECTOR_PARTS)
        unseen = self.random.of(UNSEEN) if not self.graded or whole not in "xy" else self.random.of(UNSEEN[2:])
        to, number = part.format(unseen.format(whole)), self.random.of(NUMBERS)
        kind = self.random.below(8)
        if kind == 0 and part != "{0}":
            self.line("%s = %s" % (to, self.random.of([number, to + " * 2"])))
        elif kind == 1 and unseen == "{0}" and (part.endswith("]") or whole not in "xy"):
            self.line("%s %s %s" % (to, self.random.of(["+=", "*="]), number))
        else:
            self.line(self.random.of(WRITES).format(to, number))

    def container(self):
        """Takes a vector back out of a list, a tuple or a dict."""
        kind, a, b = self.random.below(4), self.vector(), self.vector()
        if kind == 0:
            held = self.name("p")
            self.line("%s = (%s, %s)" % (held, a, b))
            taken = "%s[0]" % held
        elif kind == 1:
            held = self.name("d")
            self.line("%s = {'a': %s}" % (held, a))
            taken = "%s['a']" % held
        else:
            held = self.name("l")
            self.line("%s = [%s, %s]" % (held, a, b))
            self.line(self.random.of(["%s.append(%s)", "%s[0] = %s"]) % (held, self.vector()))
            taken = "%s[%d]" % (held, self.random.below(2)) if kind == 2 else "torch.stack([%s[0], %s[1]])[0:2]" % (held, held)
        to = self.name()
        self.line("%s = %s" % (to, taken))
        (self.matrices if kind == 3 else self.vectors).append(to)

    def block(self, head, depth):
        """Adds a nested block. What it makes is not visible behind it."""
        seen = len(self.vectors), len(self.matrices)
        self.line(head)
        self.indent += 1
        for _ in range(1 + self.random.below(3)):
            self.statement(depth + 1)
        self.indent -= 1
        del self.vectors[seen[0]:], self.matrices[seen[1]:]

    def silent(self, depth):
        """Adds statements whose writes do not count. Those after the block see the values that it made."""
        self.line("with torch.no_grad():")
        self.indent += 1
        graded, self.graded = self.graded, False
        for _ in range(1 + self.random.below(3)):
            self.statement(depth + 1)
        self.indent -= 1
        self.graded = graded

    def flow(self, depth):
        kind = self.random.below(5)
        if kind == 0:
            self.block("for i in range(%d):" % self.random.below(4), depth)
        elif kind == 1:
            count = self.name("n")
            self.line("%s = 0" % count)
            self.block("while %s < 2:" % count, depth)
            self.line("    %s += 1" % count)
        elif kind == 2:
            self.block("for %s in [%s, %s]:" % (self.name("t"), self.vector(), self.vector()), depth)
        else:
            self.block("if bool(%s.sum() > %d):" % (self.vector(), self.random.of([3, 100])), depth)
            self.block("else:", depth)

    def statement(self, depth):
        kind = self.random.below(12)
        if kind < 4 or (kind > 8 and depth > 1):
            self.value()
        elif kind < 7:
            self.write()
        elif kind < 8:
            self.container()
        elif kind < 10:
            self.silent(depth)
        else:
            self.flow(depth)

    def text(self, name):
        for _ in range(3 + self.random.below(5)):
            self.statement(0)
        last = ["%s" % self.vector() for _ in range(3)] + ["%s.sum(0)" % m for m in self.matrices[-2:]]
        return "\n".join(["def %s(x: Tensor, y: Tensor):" % name, *self.lines, "    return %s * y + %s" % (last[0], " + ".join(last[1:]))])


def functions(count):
    return "\n\n".join(Function(i).text("r%d" % i) for i in range(count)) + "\n"


if __name__ == "__main__":
    sys.stdout.write(functions(int(sys.argv[1])))
