"""An encoder with a padding mask, as PyTorch runs it under torch.no_grad() (nested tensors, whose padded rows become zeros) and
without it.

usage: encoder_test.py KILN [--record]      --record, with PyTorch 1.13 and with a 2.x: its archives and answers
"""
import itertools, os, sys, unittest, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import npz
from hostile import KILN, Test

AT = os.path.join(HERE, "encoder")
# Masks of padding. "short": left-aligned, and every row has padding. "whole": left-aligned, and one row has none. "free": not
# left-aligned. The last one has no padding.
MASKS = {"short": ["00001", "00111", "00011"], "whole": ["00000", "01111", "00011"], "free": ["01001", "00111", "10001"],
         "none": ["00000"] * 3}


def repack(path):
    """Compresses an archive and removes its debug records, which name folders of the machine that made it."""
    with zipfile.ZipFile(path) as z:
        members = [(i.filename, z.read(i)) for i in z.infolist() if not i.filename.endswith(".debug_pkl")]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def record():
    import numpy, torch
    age = "2" if torch.__version__.startswith("2") else "1"
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4)

    class Net(torch.nn.Module):
        def __init__(self, nested):
            super().__init__()
            layer = torch.nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)
            self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested)

        def forward(self, x, mask):
            return self.encoder(x, src_key_padding_mask=mask)
    for nested in [True, False] if age == "1" else [True]:
        net = Net(nested).eval()
        for p in net.parameters():
            torch.nn.init.normal_(p, std=0.4)
        name = "nested" if nested else "plain"
        net = torch.jit.script(net)
        net.save(os.path.join(AT, name + age + ".pt"))
        repack(os.path.join(AT, name + age + ".pt"))
        for mask, rows in MASKS.items():
            m = torch.tensor([[c == "1" for c in row] for row in rows])
            numpy.savez_compressed(os.path.join(AT, f"{mask}.in.npz"), x=x.numpy(), mask=m.numpy())
            for grad in (True, False):
                with torch.set_grad_enabled(grad):
                    out = net(x, m).detach().numpy()
                numpy.savez_compressed(os.path.join(AT, f"{name}{age}.{mask}.{'grad' if grad else 'no_grad'}.npz"), out=out)


class Encoder(Test):
    def right(self, command, given, want):
        self.check([*command, "-i", os.path.join(AT, given + ".in.npz"), "-o", "out.npz"], 0)
        why = npz.differs(npz.read(os.path.join(AT, want + ".npz")), npz.read(os.path.join(self.dir, "out.npz")))
        self.assertIsNone(why, (command, given))

    def all(self, command, want):
        for mask in MASKS:
            self.right(command, mask, f"{want[0]}.{mask}.{want[1]}")

    def test_interpreted(self):
        for net, grad in itertools.product(("nested1", "plain1", "nested2"), ("grad", "no_grad")):
            self.all([KILN, "run", *["--no-grad"][:grad == "no_grad"], os.path.join(AT, net + ".pt")], (net, grad))

    def test_built(self):
        for net, grad in (("nested1", "no_grad"), ("nested1", "grad"), ("nested2", "no_grad")):
            for given in ("short", "free"):
                self.check([KILN, "build", *["--no-grad"][:grad == "no_grad"], "--cc", "tcc", os.path.join(AT, net + ".pt"), "-i",
                            os.path.join(AT, given + ".in.npz"), "-o", "program"], 0)
                self.all(["./program"], (net, grad))

    def test_usage(self):
        self.check([KILN, "run", "--no-grad", "--grad", "x", os.path.join(AT, "nested1.pt")], 2, "--no-grad")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        sys.exit(record())
    unittest.main(argv=[sys.argv[0]], verbosity=0)
