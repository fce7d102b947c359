"""Statements of random modules that branch, repeat, raise and call; whole functions."""
from module_values import Var, broadcast, is_int, r_choice
from module_writes import Writes


class Body(Writes):
    # ---- control flow

    def block(self, n):
        """Returns indented statements. Variables that they bind are dropped at the end."""
        kept = list(self.vars)
        self.indent += 1
        before = len(self.lines)
        for _ in range(n):
            self.statement()
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1
        self.vars = [v for v in kept]

    def branch(self):
        self.line(f"if {self.condition()}:")
        self.block(self.r.randint(1, 3))
        if self.on("early") and self.ret and self.chance(0.15):
            self.indent += 1
            self.line("return " + self.returned())
            self.indent -= 1
            if self.chance(0.5):
                return
        if self.chance(0.6):
            self.line("else:")
            self.block(self.r.randint(1, 3))

    def loop_(self):
        if self.loop >= 2:
            return
        r = self.r
        self.loop += 1
        i = self.fresh("i")
        how = r.random()
        lst = self.pick("LT")
        kept = list(self.vars)
        if how < 0.15 and lst:
            self.line(f"for {i} in {lst.text}[:2]:")
            self.vars.append(Var(i, "T", lst.dtype, lst.shape, lst.hard, lst.depth, grad=lst.grad))
        elif how < 0.3:
            self.line(f"{i} = 0")
            self.line(f"while {i} < {r_choice(r, ['2', '3'])}" + (f" and ({self.condition()}):" if self.chance(0.4) else ":"))
            self.line(f"    {i} += 1")
            self.vars.append(Var(i, "i"))
        else:
            count = r_choice(r, ["2", "3", f"min(3, {self.integer()})", f"min(4, {self.integer()})"])
            self.line(f"for {i} in range({count}):")
            self.vars.append(Var(i, "i"))
        self.block(r.randint(1, 3))
        if self.chance(0.25):
            self.indent += 1
            self.line(f"if {self.condition()}:")
            self.line(f"    {r_choice(r, ['break', 'continue'])}")
            if self.chance(0.5):
                self.statement()
            self.indent -= 1
        self.vars = kept
        self.loop -= 1

    def no_grad(self):
        self.line("with torch.no_grad():")
        p = self.pick("T", lambda v: v.text == "self.p0")
        if p and not self.pure and self.chance(0.5):
            self.line(f"    self.p0.{r_choice(self.r, ['add_(1)', 'mul_(-1)', 'zero_()', 'clamp_(-1, 1)', 'copy_(self.p0 + 1)'])}")
        self.block(self.r.randint(1, 3))

    # ---- errors

    def error(self):
        """Returns a statement that raises, sometimes only on some inputs."""
        if self.chance(0.6):
            self.line(f"if {self.condition()}:")
            self.indent += 1
            self.raise_()
            self.indent -= 1
        else:
            self.raise_()

    def raise_(self):
        r = self.r
        i = self.integer()
        a = self.tensor(1)
        hard = self.pick("T", lambda v: v.hard and v.shape and not v.grad)
        name = self.fresh("e")
        lines = [f"{name} = {a.text} + torch.ones([7, 3])", f"{name} = [1, 2][{i} + 2]", f"{name} = 10 // ({i} * 0)", f"{name} = {{'a': 1}}['b']",
                 f"{name} = {a.text}.view([3, 7])", f"{name} = torch.cat([{a.text}, torch.ones([2, 9, 4])])", f"{name} = {a.text}.size(5)",
                 f"{name} = torch.matmul({a.text}, torch.ones([11, 2]))", f"{name} = {a.text}.reshape([-1, 13])", f"{name} = {i} % ({i} - {i})",
                 f"{name} = torch.ones([3]).to(torch.int64).add_(1.5)", f"{name} = torch.ones([1]).expand([3]).add_(1)",
                 f"{name} = torch.nn.functional.cross_entropy(torch.ones([2, 3]), torch.tensor([0, {r_choice(r, ['3', '9', '-1', '1'])}]))",
                 f"{name} = torch.nn.functional.embedding(torch.tensor([{i} + 5]), torch.ones([4, 2]))", f"{name} = torch.gather(torch.ones([2, 2]), 1, torch.tensor([[{i} + 2]]))",
                 f"{name} = torch.index_select({a.text}, 0, torch.tensor([{r_choice(r, ['99', '-99'])}]))", f"{name} = {a.text}.permute([0, 0])",
                 f"{name} = torch.stack([{a.text}, torch.ones([5])])", f"{name} = torch.ones([2]).unsqueeze(4)", f"{name} = torch.zeros([0]).max()",
                 f"{name} = torch.arange(3, dtype=torch.int64) // torch.zeros([3], dtype=torch.int64)", f"{name} = torch.arange(3) % 0",
                 f"{name} = int({a.text})", f"{name} = float({a.text} != {a.text})", f"{name} = {a.text}.squeeze().item()", f"{name} = torch.ones([3])[{i} + 3]", f"{name} = {a.text}.select(0, 50)",
                 f"{name} = torch.ones([2, 3]).sum(3)", f"{name} = torch.full([2], 1).softmax(0)", f"{name} = torch.linspace(0, 1, -2)", f"{name} = 'ab'[{i} + 7]",
                 f"{name} = torch.ones([2]).narrow(0, 1, 5)", f"{name} = torch.ones([3, 4]).t().view([12])", f"{name} = torch.ones([2, 2]).tril().logical_and_(torch.ones([3]))",
                 f"{name} = {a.text}.masked_select(torch.ones([2]))", f"{name} = torch.bitwise_and(torch.ones([2]), 1)", f"{name} = torch.ones([2], dtype=torch.bool) - torch.ones([2], dtype=torch.bool)",
                 f"{name} = torch.conv1d(torch.ones([1, 2, 3]), torch.ones([1, 2, 5]))", f"{name} = torch.layer_norm(torch.ones([2, 3]), [4])", f"{name} = torch.nn.functional.one_hot(torch.tensor([3]), 2)",
                 f"{name} = torch.tensor([1, 2]).mean()", f"{name} = int('a{i}')" if False else f"{name} = int('x')", f"{name} = torch.ones([2]) @ torch.ones([3])"]
        if self.on("raise") and self.chance(0.5):
            lines = [f"raise {r_choice(r, ['RuntimeError', 'ValueError', 'IndexError', 'KeyError', 'Exception', 'NotImplementedError'])}({r_choice(r, [repr('bad thing'), repr('value {}') + f'.format({i})', repr('')])})",
                     f"assert {self.condition()}, {r_choice(r, [repr('not so'), repr('{} of it') + f'.format({i})'])}", f"assert {self.condition()}"]
        if hard and self.chance(0.3):
            lines = [f"{hard.text}.add_(torch.ones([13]))", f"{hard.text}[99] = 1", f"{hard.text}[:, :, :, 0] = 1", f"{hard.text} += torch.ones([5, 1, 1, 9])", f"{hard.text}.copy_(torch.ones([17]))"]
            if is_int(hard.dtype) or hard.dtype == "bool":
                lines += [f"{hard.text} += 0.5", f"{hard.text}.mul_(1.5)", f"{hard.text}.add_(torch.ones([1]))", f"{hard.text} /= 2"]
        if self.pure and hard and hard.text[0] != "v":
            lines = [l for l in lines if not l.startswith(hard.text)] or [f"{name} = torch.ones([2]) @ torch.ones([3])"]
        self.line(r_choice(r, lines))

    # ---- calls

    def call(self):
        ms = [m for m in self.g.methods if not self.pure or m.pure]
        if not ms:
            return self.assign()
        m = self.r.choice(ms)
        args, bound = self.arguments(m)
        text = f"self.{m.name}({', '.join(args)})"
        if m.pure and self.on("fork") and not self.pure and self.chance(0.4):
            f = self.fresh("f")
            self.line(f"{f} = torch.jit.fork({text[:-1].replace('(', ', ', 1)})")
            if self.chance(0.5) and self.indent == 2:
                self.assign()
            text = f"torch.jit.wait({f})"
        res = m.result
        shape = tuple(bound.get(d, d) for d in res.shape)
        if any(isinstance(d, str) and d.startswith("a") for d in shape):
            shape = ()
        v = self.bind(Var("", "T", res.dtype, shape, res.hard, res.depth, grad=res.grad))
        self.line(f"{v.text} = {text}")

    def arguments(self, m):
        """Returns the texts of a method's arguments, and their sizes."""
        args, bound = [], {}
        last = None
        for p in m.params:
            if p.kind == "i":
                args.append(self.integer())
                continue
            fits = lambda v: v.dtype == p.dtype and len(v.shape) == len(p.shape) and (v.hard or not p.hard) and v.depth <= 1 and not v.grad and v.writable
            if last is not None and self.chance(0.3) and fits(last) and all(bound.get(d, s) == s for d, s in zip(p.shape, last.shape)):
                e = last                                    # the same tensor again
            else:
                e = self.pick("T", lambda v: fits(v) and all(bound.get(d, s) == s for d, s in zip(p.shape, v.shape)))
            if e is None:
                shape = tuple(bound.get(d, 2 + k) for k, d in enumerate(p.shape))
                e = Var(self.make_new(shape, p.dtype), "T", p.dtype, shape)
            for d, s in zip(p.shape, e.shape):
                bound.setdefault(d, s)
            args.append(e.text)
            last = e
        return args, bound

    def stack(self):
        """Calls the modules of a list one after the other."""
        v = self.bind(Var("", "T", "float32", (2, 3), False, 9, grad=True))
        self.line(f"{v.text} = ((torch.arange(6, dtype=torch.float32) * 0.375 - 1) ** 2).reshape([2, 3])")
        x = self.pick("T", lambda v: v.dtype == "float32" and broadcast(v.shape, (2, 3)) == (2, 3) and not v.text.startswith("self.p") and "(" not in v.text)
        if x and x is not v:
            self.line(f"{v.text} = {v.text} + {x.text}")
        i, layer = self.fresh("i"), self.fresh("l")
        self.line(f"for {i}, {layer} in enumerate(self.stack):")
        self.line(f"    {v.text} = {layer}({v.text})" + r_choice(self.r, ["", f" + {i}", f" * {v.text}"]))
        if self.chance(0.3):
            self.line(f"    if {self.condition()}:")
            self.line(f"        {v.text} = {v.text} + 1")

    def sub_call(self):
        if not self.g.subs or self.pure:
            return self.assign()
        name, m = self.r.choice(self.g.subs)
        args, bound = self.arguments(m)
        shape = tuple(bound.get(d, d) for d in m.result.shape)
        v = self.bind(Var("", "T", m.result.dtype, shape, m.result.hard, m.result.depth, grad=m.result.grad))
        self.line(f"{v.text} = self.{name}({', '.join(args)})")

    # ---- the whole

    def statement(self):
        self.budget -= 1
        if self.budget < 0 or len(self.lines) > 60:
            return self.assign() if len(self.lines) < 60 else None
        kinds = [(4, self.assign), (1, self.number)]
        if self.on("views"):
            kinds.append((2, self.assign_view))
        if self.on("inplace"):
            kinds.append((5, self.write))
        if self.on("slices"):
            kinds.append((3, self.slice_write))
        if self.on("overlap"):
            kinds.append((1, self.overlap))
        if self.on("attrs") and self.g.attrs and not self.pure:
            kinds.append((4, self.set_attr))
        if self.on("containers"):
            kinds += [(1, self.new_container), (2, self.use_container)]
        if self.on("control") and self.indent < 5:
            kinds.append((2, self.branch))
        if self.on("loops") and self.indent < 4:
            kinds.append((1, self.loop_))
        if self.on("errors"):
            kinds.append((1, self.error))
        if self.on("prints") and not self.pure:
            kinds.append((1, self.printed))
        if self.on("strings"):
            kinds.append((0.5, self.string))
        if self.on("scalars"):
            kinds.append((3, self.scalars))
        if self.on("methods"):
            kinds.append((2, self.call))
        if self.on("subs"):
            kinds.append((1, self.sub_call))
        if self.g.stacks and not self.pure:
            kinds.append((1, self.stack))
        if self.on("nograd") and self.indent < 4:
            kinds.append((0.5, self.no_grad))
        self.r.choices([k for _, k in kinds], [w for w, _ in kinds])[0]()

    def returned(self):
        out = []
        for p in self.ret:
            if p.kind == "T":
                v = self.pick("T")
                out.append(v.text if self.chance(0.7) else self.tensor(1).text)
            elif p.kind == "i":
                out.append(self.integer())
            elif p.kind == "LT":
                v = self.pick("LT")
                out.append(v.text if v else f"[{self.pick('T').text}]")
            elif p.kind == "s":
                v = self.pick("s")
                out.append(v.text if v else "'none'")
        return out[0] if len(out) == 1 else "(" + ", ".join(out) + ")"
