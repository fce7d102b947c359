"""Statements of random modules that compute and write: assignments, in-place operations, attributes, containers, numbers and text."""
from module_values import LIMIT, Values, Var, is_float, is_int, r_choice


class Writes(Values):
    # ---- numbers and conditions

    def integer(self):
        i = self.pick("i")
        x = self.pick("T", lambda v: v.shape)
        h = self.pick("T", lambda v: v.hard and is_int(v.dtype) and not v.shape)
        choices = ["1", "2", "0"]
        if i:
            choices += [i.text, i.text, f"({i.text} + 1)", f"{i.text} % 3"]
        if x:
            choices += [f"{x.text}.size(0)", f"{x.text}.dim()", f"len({x.text})", f"{x.text}.numel()"]
        if h:
            choices += [f"int({h.text})", f"int({h.text}.item())"]
        lst = self.pick("LT") or self.pick("Li")
        if lst:
            choices += [f"len({lst.text})"]
        return r_choice(self.r, choices)

    def condition(self):
        r = self.r
        choices = [f"{self.integer()} {r_choice(r, ['>', '<', '==', '!=', '>='])} {self.integer()}"]
        h = self.pick("T", lambda v: v.hard and not v.dtype.startswith("complex"))
        if h:
            choices += [f"bool({h.text}.sum() > {r_choice(r, ['0', '1', '3', '-2'])})", f"bool(({h.text} > 0).any())", f"bool(({h.text} == 0).all())",
                        f"{h.text}.dtype == torch.float32", f"{h.text}.dim() == 2", f"{h.text}.is_floating_point()"]
            if h.shape:
                choices += [f"{h.text}.size(0) > 2"]
        b = self.pick("b")
        if b:
            choices += [b.text, f"not {b.text}"]
        o = self.pick("OT")
        if o and "." not in o.text:
            choices += [f"{o.text} is None", f"{o.text} is not None"]
        if not self.pure:
            choices += ["self.training"]
        d = self.pick("DT")
        if d:
            choices += [f"'b' in {d.text}", f"len({d.text}) > 1"]
        s = self.pick("s")
        if s:
            choices += [f"{s.text} == 'a'", f"len({s.text}) > 2"]
        c = r_choice(r, choices)
        if self.chance(0.15):
            c = f"{c} {r_choice(r, ['and', 'or'])} {r_choice(r, choices)}"
        return c

    # ---- statements

    def bind(self, e, name=None):
        name = name or self.fresh()
        v = Var(name, e.kind, e.dtype, e.shape, e.hard, e.depth, e.writable, False, e.grad)
        self.vars.append(v)
        return v

    def assign(self):
        e = self.tensor(3)
        old = self.pick("T", lambda v: "." not in v.text and "[" not in v.text)
        if old and self.chance(0.3) and (self.indent == 2 or (old.dtype, old.shape) == (e.dtype, e.shape)) and old.hard == e.hard and not old.keep:
            self.line(f"{old.text} = {e.text}")
            self.vars = [v for v in self.vars if v is not old] if self.indent == 2 else self.vars
            if self.indent == 2:
                self.bind(e, old.text)
            return
        self.line(f"{self.fresh()} = {e.text}")
        self.bind(e, f"v{self.g.count}")

    def assign_view(self):
        a = self.pick("T")
        out = self.view_of(a)
        if not out:
            return
        text, shape = r_choice(self.r, out)
        v = self.bind(Var(text, "T", a.dtype, shape, a.hard, a.depth, writable=a.writable, grad=a.grad))
        self.line(f"{v.text} = {text}")

    def target(self):
        """Returns the target of a write: a tensor or a view of one."""
        v = self.pick("T", lambda v: v.writable and not v.grad and not (self.pure and v.text[0] != "v"))
        if v and self.chance(0.4):
            out = self.view_of(v)
            if out:
                text, shape = r_choice(self.r, out)
                return Var(text, "T", v.dtype, shape, v.hard, v.depth)
        return v

    def operand(self, e):
        """Returns e as an operand of a write. Without "aliased" it is a copy."""
        return e if self.on("aliased") else Var(f"{e.text}.clone()", e.kind, e.dtype, e.shape, e.hard, e.depth)

    def write(self):
        """Adds in-place operations and their augmented forms."""
        v = self.target()
        if not v:
            return self.assign()
        wrong = self.on("errors") and self.chance(0.12)
        e = self.like(v.shape, None if wrong else v.dtype, v.hard, 1)
        if wrong and self.chance(0.5):
            e = self.tensor(1, v.hard)
        if v.hard and (e.depth >= LIMIT and is_float(v.dtype)):
            e = Var(self.make_new(v.shape, v.dtype), "T", v.dtype, v.shape)
        e = self.operand(e)
        t = v.text
        real = not v.dtype.startswith("complex")
        ops = [f"{t}.add_({e.text})", f"{t}.copy_({e.text})", f"{t}.zero_()", f"{t}.fill_(1)"]
        if v.dtype != "bool":
            ops += [f"{t}.sub_({e.text})", f"{t}.mul_(-1)" if v.dtype != "uint8" else f"{t}.add_(1)", f"{t}.add_(2)", f"{t}.add_({e.text}, alpha=2)"]
            if real:
                ops += [f"{t}.clamp_(-3, 3)", f"{t}.relu_()", f"{t}.masked_fill_({t} > 1, 0)" if v.hard else f"{t}.clamp_(-1, 1)"]
        if is_float(v.dtype):
            ops += [f"{t}.mul_(0.5)", f"{t}.neg_()"]
            if not v.hard:
                ops += [f"{t}.tanh_()", f"{t}.sigmoid_()", f"{t}.mul_({e.text})", f"{t}.addcmul_({e.text}, {e.text}, value=0.1)"]
        s0 = v.shape[0] if v.shape else 0
        if v.shape and isinstance(s0, int) and s0 > 1 and real:
            rows = self.sizes((1,) + v.shape[1:])
            one = f"torch.ones({rows}, dtype=torch.{v.dtype})"
            at = f"torch.tensor([{self.r.randrange(s0)}])"
            ops += [f"{t}.index_fill_(0, {at}, 1)", f"{t}.index_copy_(0, {at}, {one})", f"{t}.scatter_(0, torch.zeros({rows}, dtype=torch.int64), {one})",
                    f"{t}.index_put_([{at}], {one}[0])"]
            if v.dtype != "bool":
                ops += [f"{t}.index_add_(0, {at}, {one})", f"{t}.scatter_add_(0, torch.zeros({rows}, dtype=torch.int64), {one})"]
        if is_float(v.dtype) and (e.shape == v.shape and e.dtype == v.dtype):
            ops += [f"torch.add({e.text}, 1, out={t})", f"torch.maximum({t}, {e.text}, out={t})", f"{t}.data.add_({e.text})", f"{t}.detach().neg_()"]
        if real and v.hard and v.dtype != "bool":
            ops += [f"{t}.remainder_(3)", f"{t}.floor_()" if is_float(v.dtype) else f"{t}.bitwise_or_(1)", f"{t}.gt_(0)", f"{t}.eq_({e.text})", f"{t}.logical_not_()",
                    f"{t}.div_(2, rounding_mode='floor')", f"{t}.clamp_min_(-1)"]
        if self.chance(0.45):
            simple = t.isidentifier() or t.startswith("self.") and t[5:].replace(".", "").isidentifier() or t.endswith("]")
            if simple and ("(" not in t):
                ops = [f"{t} += {e.text}"] * 2 + ([f"{t} -= {e.text}", f"{t} += 1", f"{t} *= 2" if is_int(v.dtype) else f"{t} *= 0.5"] if v.dtype not in ("bool",) else [])
                if wrong:
                    ops += [f"{t} *= 0.5", f"{t} /= 2", f"{t} += 0.5"]
        self.line(r_choice(self.r, ops))

    def slice_write(self):
        v = self.pick("T", lambda v: v.writable and not v.grad and v.shape and not (self.pure and v.text[0] != "v"))
        if not v:
            return self.assign()
        views = [(t, s) for t, s in self.view_of(v) if t.startswith(v.text + "[")]
        if not views:
            return self.write()
        text, shape = r_choice(self.r, views)
        how = self.r.random()
        if how < 0.3:
            n = r_choice(self.r, ["0", "1", "2", "-1" if v.dtype != "uint8" else "3"])
            self.line(f"{text} = {n}")
            return
        e = self.like(shape, v.dtype, v.hard, 1)
        if v.hard and e.depth >= LIMIT and is_float(v.dtype):
            e = Var(self.make_new(shape, v.dtype), "T", v.dtype, shape)
        if how < 0.45 and v.hard:
            self.line(f"{v.text}[{v.text} > 0] = {r_choice(self.r, ['0', '1'])}" if not v.dtype.startswith("complex") else f"{v.text}.zero_()")
        elif how < 0.55 and v.shape and isinstance(v.shape[0], int) and v.shape[0] > 1:
            self.line(f"{v.text}[torch.tensor([0, {v.shape[0] - 1}])] = {r_choice(self.r, ['0', '1'])}")
        else:
            op = r_choice(self.r, ["=", "=", "+=", "-=" if v.dtype != "bool" else "="])
            self.line(f"{text} {op} {self.operand(e).text}")

    def overlap(self):
        v = self.pick("T", lambda v: v.writable and not v.grad and len(v.shape) >= 1 and v.dtype != "bool" and not (self.pure and v.text[0] != "v"))
        if not v:
            return
        t = v.text
        if "." not in t or self.on("shared"):  # PyTorch does not define in which order overlapping parts that are not dense are written
            e = self.bind(Var(f"{t}.clone()", "T", v.dtype, v.shape, v.hard, v.depth))
            self.line(f"{e.text} = {t}.clone(memory_format=torch.contiguous_format)")
            t = e.text
        c = "" if self.on("aliased") else ".clone()"
        lines = [f"{t}[1:] += {t}[:-1]{c}", f"{t}[1:] = {t}[:-1]{c}", f"{t}[1:].add_({t}[:-1]{c})", f"{t}[1:].copy_({t}[:-1]{c})", f"{t}.add_({t})",
                 f"{t}[:] = {t}", f"{t} += {t}", f"{t}[::2] += {t}[::2]", f"{t}.add_({t}.flip([0]))", f"{t}.copy_({t}[-1]{c})", f"{t}.add_({t}[0]{c})",
                 f"{t}.sub_({t}[-1]{c})"]
        if len(v.shape) == 2 and v.shape[0] == v.shape[1]:
            lines += [f"{t}.add_({t}.t(){c})", f"{t}.copy_({t}.t(){c})", f"{t}.t().sub_({t}{c})"]
        self.line(r_choice(self.r, lines))

    def set_attr(self):
        a = self.r.choice(self.g.attrs)
        r = self.r
        if a.kind == "T":
            if "." in a.text[5:] or a.text.startswith("self.p") or a.grad:
                return self.write()
            how = r.random()
            if how < 0.35:
                e = self.tensor(2, a.hard, lambda v: (v.shape, v.dtype) == (a.shape, a.dtype) and v.depth <= a.depth + 1 and not v.grad)
                if (e.shape, e.dtype) == (a.shape, a.dtype) and (e.hard or not a.hard) and not e.grad:
                    self.line(f"{a.text} = {e.text}")
                    return
            e = self.like(a.shape, a.dtype, a.hard, 1)
            if a.hard and e.depth >= LIMIT and is_float(a.dtype) or e.grad:
                e = Var(self.make_new(a.shape, a.dtype), "T", a.dtype, a.shape)
            e = self.operand(e)
            op = r_choice(r, ["+=", "+=", "-=" if a.dtype != "bool" else "+="])
            lines = [f"{a.text} {op} {e.text}"] * 2 + [f"{a.text}.add_({e.text})", f"{a.text}.copy_({e.text})", f"{a.text} = {a.text}.clone()"]
            if a.dtype != "bool":
                lines += [f"{a.text} += 1", f"{a.text} = {a.text} + 1", f"{a.text} *= 2" if is_int(a.dtype) else f"{a.text} *= 0.5"]
            if a.shape:
                lines += [f"{a.text}[0] = 1", f"{a.text}[-1] += {e.text}[-1]" if e.shape == a.shape else f"{a.text}[-1] = 0"]
            self.line(r_choice(r, lines))
        elif a.kind == "i":
            self.line(r_choice(r, [f"{a.text} += 1", f"{a.text} = {self.integer()} % 5", f"{a.text} = {a.text} * 2 % 7", f"{a.text} -= 1"]))
        elif a.kind == "f":
            self.line(r_choice(r, [f"{a.text} = 0.5 - {a.text}", f"{a.text} *= -1.0", f"{a.text} = float({self.integer()})"]))
        elif a.kind == "b":
            self.line(r_choice(r, [f"{a.text} = not {a.text}", f"{a.text} = {self.condition()}"]))
        elif a.kind == "s":
            self.line(r_choice(r, [f"{a.text} = {a.text}[-4:] + 'x'", f"{a.text} += 'y'", f"{a.text} = str({self.integer()})"]))
        elif a.kind == "LT":
            e = self.like_exact(a)
            self.line(r_choice(r, [f"{a.text}.append({e})", f"{a.text}[0] = {e}", f"{a.text}[-1].add_(1)" if a.dtype != "bool" else f"{a.text}[0].zero_()",
                                   f"{a.text}.pop()" if self.chance(0.3) else f"{a.text}[0].mul_(1)", f"{a.text} = [{e}, {e}]", f"{a.text}[1] += 1" if a.dtype != "bool" else f"{a.text}[0].zero_()",
                                   f"{a.text}.insert(0, {e})", f"{a.text}.reverse()"]))
        elif a.kind == "Li":
            self.line(r_choice(r, [f"{a.text}.append({self.integer()})", f"{a.text}[0] = {self.integer()}", f"{a.text}[0] += 1", f"{a.text} = {a.text}[1:] + [3]", f"{a.text}.sort()"]))
        elif a.kind == "DT":
            e = self.like_exact(a)
            self.line(r_choice(r, [f"{a.text}['b'] = {e}", f"{a.text}['a'].add_(1)" if a.dtype != "bool" else f"{a.text}['a'].zero_()", f"{a.text}['a'] = {e}", f"{a.text}['c'] = {a.text}['a']"]))
        elif a.kind == "OT":
            e = self.like_exact(a)
            self.line(r_choice(r, [f"{a.text} = {e}", f"{a.text} = None"]))

    def like_exact(self, a):
        """Returns the text of a tensor of a's sizes and dtype."""
        v = self.pick("T", lambda v: v.shape == a.shape and v.dtype == a.dtype and v.hard == a.hard and v.depth < LIMIT and not v.grad)
        if v and self.chance(0.7):
            return v.text if self.chance(0.7) else f"{v.text}.clone()"
        return self.make_new(a.shape, a.dtype)

    def new_container(self):
        r = self.r
        kind = r_choice(r, ["LT", "LT", "Li", "DT", "OT"])
        name = self.fresh("c")
        if kind == "Li":
            self.line(f"{name} = [{self.integer()}, {self.integer()}, 3]")
            self.vars.append(Var(name, "Li"))
            return
        a = self.tensor(1)
        b = self.like_exact(a)
        v = Var(name, kind, a.dtype, a.shape, a.hard, a.depth)
        if kind == "LT":
            self.line(f"{name} = [{a.text}, {b}]")
        elif kind == "DT":
            self.line(f"{name} = {{'a': {a.text}, 'b': {b}}}")
        elif self.indent > 2:
            return
        else:
            self.line(f"{name}: Optional[Tensor] = {r_choice(r, ['None', a.text])}")
            self.line(f"if {self.condition()}:")
            self.line(f"    {name} = {a.text}")
        self.vars.append(v)

    def use_container(self):
        r = self.r
        c = self.pick(r_choice(r, ["LT", "Li", "DT", "OT"]))
        if not c or (self.pure and c.text[0] not in "cv"):
            return self.new_container()
        if c.kind == "OT":
            if "." in c.text:
                name = self.fresh("c")
                self.line(f"{name} = {c.text}")
            else:
                name = c.text
            self.line(f"if {name} is not None:")
            self.line(f"    {name}.add_(1)" if c.dtype != "bool" and not c.grad else f"    print({name}.size())")
            return
        if c.kind == "Li":
            self.line(r_choice(r, [f"{c.text}.append({self.integer()})", f"{c.text}[-1] = {self.integer()}", f"{c.text}[0] += 2"]))
            return
        e = self.like_exact(c)
        if c.kind == "LT":
            self.line(r_choice(r, [f"{c.text}.append({e})", f"{c.text}[0] = {e}", f"{c.text}[-1].zero_()" if not c.grad else f"{c.text}[0] = {e}", f"{c.text}[0] += {e}" if c.dtype != "bool" and not c.grad else f"{c.text}.append({e})"]))
        else:
            self.line(r_choice(r, [f"{c.text}['a'] = {e}", f"{c.text}['z'] = {e}", f"{c.text}['a'].zero_()" if not c.grad else f"{c.text}['a'] = {e}", f"{c.text}['a'] += {e}" if c.dtype != "bool" and not c.grad else f"{c.text}['z'] = {e}"]))

    def number(self):
        name = self.fresh("n")
        self.line(f"{name} = {self.integer()}")
        self.vars.append(Var(name, "i"))

    def printed(self):
        r = self.r
        h = self.pick("T", lambda v: v.hard and not v.dtype.startswith("complex") and v.dtype not in ("float16", "bfloat16"))
        choices = [f"'{self.name}', {self.integer()}", f"{self.integer()}"]
        if h:
            choices += [f"{h.text}.size()", f"'t', {h.text}", f"{h.text}.sum()"]
        s = self.pick("s")
        if s and self.on("strings"):
            choices += [s.text, f"'{{}} is {{}}'.format({s.text}, {self.integer()})", f"f'{{{s.text}}}!'"]
        li = self.pick("Li")
        if li:
            choices += [li.text]
        f = self.pick("f")
        if f:
            choices += [f.text]
        self.line(f"print({r_choice(r, choices)})")

    def string(self):
        s = self.pick("s")
        name = self.fresh("s")
        a = s.text if s else "'ab'"
        i = self.integer()
        self.line(f"{name} = " + r_choice(self.r, [f"{a} + 'c'", f"'{{}}-{{}}'.format({a}, {i})", f"str({i})", f"{a}[1:]", f"{a}.upper()", f"'%d:%s' % ({i}, {a})", f"{a}.replace('a', 'b')"]))
        self.vars.append(Var(name, "s"))

    def scalars(self):
        """Adds statements on numbers, strings and containers, from templates: {i} an int, {n} a new name, {l} ints, {s} text, {d}
        a dict."""
        r = self.r
        ints = ["{i} - 3 * {i}", "-7 // ({i} + 2)", "-7 % ({i} + 3)", "int(({i} + 2) ** 2)", "abs({i} - 2)", "max({i}, 2) - min({i}, 1)", "{i} // ({i} - 1)", "7 % ({i} - 2)",
                "int({f} * 4)", "round({f} * 3)", "math.floor({f})", "math.ceil({f} / 2)", "sum([{i}, 2, {i}])", "len({s})", "{s}.find('a')", "ord('a') + {i}",
                "({i} << 2) | 1", "{i} & 3 ^ {i}", "int({i} > 1) + int(True)", "{l}[0] + {l}[-1]", "len({l})", "{l}[{i}]", "max({l})", "{l}.pop()", "{l}.index(3)",
                "{l}.count(3)", "int('1' + str({i}))", "{i} if {b} else {i} + 5", "len([{n}q + 1 for {n}q in {l}])"]
        floats = ["{f} * 2.0", "{i} / 2", "1.0 / ({i} - 1)", "float({i}) ** 2", "{f} - {i}", "math.sqrt(abs({f}))", "{f} // 0.5", "{f} % 0.75", "max({f}, 0.25)", "abs({f})", "float('0.5') + {f}",
                  "{f} / {f}", "math.pow(2.0, {i})", "-{f}", "{f} if {b} else 2.5"]
        texts = ["{s} + str({i})", "'%s|%d' % ({s}, {i})", "'{{}}:{{}}'.format({i}, {f})", "{s}[{i}:]", "{s}[-1:]", "'a,b,c'.split(',')[{i}]", "','.join(['x', {s}])", "{s}.upper().lower()",
                 "{s}.strip('a')", "f'{{{i}}} and'", "str({l})", "str({f})", "str({b})", "{s} if {b} else 'no'", "'{{}}'.format({l})"]
        lists = ["[{i}, {i} + 1]", "{l} + [{i}]", "{l}[1:]", "{l}[::-1]", "sorted({l})", "[{n}q * 2 for {n}q in {l}]", "list(range({i}))", "{l} * 2", "[0] * ({i})", "{l}[-2:] + {l}[:1]", "{l}.copy()"]
        plain = ["{l}.append({i})", "{l}.extend([{i}, 1])", "{l}.insert({i}, 9)", "{l}.remove(3)", "{l}.reverse()", "{l}.sort(reverse=True)", "{l}[{i}] = 4", "{l}[0] += 2", "{l}.clear()", "del {l}[0]",
                 "{l} += [{i}]", "{n}t = ({i}, {f}, {s})\nprint({n}t[0], {n}t[2])", "for {n}a, {n}b in zip({l}, {l}):\n    print({n}a + {n}b)",
                 "for {n}a, {n}b in enumerate({l}):\n    {l}[{n}a] = {n}b + {n}a", "{n}d = {{'a': {i}, 'b': 2}}\n{n}d['c'] = {i}\nfor {n}k in {n}d:\n    print({n}k, {n}d[{n}k])",
                 "{n}d = {{1: {i}, 2: 5}}\n{n}d[{i}] = 7\nprint({n}d, len({n}d), {i} in {n}d, {n}d.pop({i}))", "{n}d = {{'k': {l}}}\n{n}d['k'].append({i})\nprint({n}d['k'], {l})",
                 "{n}m = [{l}, [{i}]]\n{n}m[0].append(8)\n{n}m[1] = {l}\nprint({n}m, {n}m[0] == {l})", "assert {i} < 3, 'too large: {{}}'.format({i})", "print({l} == [1, 2, 3], {i} in {l}, {s} in ['a', 'bc'])"]
        kind = r_choice(r, ["i", "i", "f", "s", "Li", "plain"])
        have = {"i": self.integer, "f": lambda: self.text_of("f", ["0.5", "1.5", "-2.25"]), "s": lambda: self.text_of("s", ["'ab'", "'xaz'"]), "b": lambda: f"({self.condition()})"}
        lst = self.pick("Li")
        if "{l}" in (text := r_choice(r, {"i": ints, "f": floats, "s": texts, "Li": lists, "plain": plain}[kind])) and not lst:
            lst = Var(self.fresh("c"), "Li")
            self.line(f"{lst.text} = [{self.integer()}, 2, 3]")
            self.vars.append(lst)
        name = self.fresh("n")
        # each {i} is replaced by another number
        while True:
            at = [(text.find("{" + w + "}"), w) for w in ("i", "f", "s", "b") if "{" + w + "}" in text.replace("{{", "  ")]
            if not at:
                break
            w = min(at)[1]
            text = text.replace("{" + w + "}", have[w](), 1)
        text = text.replace("{n}", name).replace("{l}", lst.text if lst else "").replace("{{", "{").replace("}}", "}")
        if kind == "plain":
            if "print" in text and self.pure:
                return
            for l in text.split("\n"):
                self.line(l)
            return
        self.line(f"{name} = {text}")
        self.vars.append(Var(name, kind))

    def text_of(self, kind, values):
        v = self.pick(kind)
        return v.text if v and self.chance(0.8) else r_choice(self.r, values)
