#!/usr/bin/env python3
"""Builds the wheel: wheel.py KILN FOLDER     writes FOLDER/kiln-VERSION-py3-none-PLATFORM.whl

The wheel holds the package, the executable KILN (which looks for libraries in lib/ beside itself: $ORIGIN/lib) and the
shared libraries that KILN needs, except the C library's.  No module of the package is compiled, so the wheel fits every
Python 3.  The platform tag names the newest glibc version that any of these files asks for.  A wheel is a zip with
METADATA, WHEEL and RECORD.  The same files give the same wheel, byte for byte."""
import base64
import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
GLIBC = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread)\.so)")
MACHINES = {62: "x86_64", 183: "aarch64"}


def libraries(program):
    """Returns [(name, path)] of the shared libraries that program needs, directly or not, except the C library's."""
    said = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE).stdout.decode()
    found = re.findall(r"^\s*(\S+) => (\S+|not found)", said, re.M)
    lacks = [name for name, path in found if not os.path.isabs(path)]
    if lacks:
        sys.exit("wheel.py: %s needs %s, which is not here" % (program, lacks[0]))
    return sorted((name, path) for name, path in found if not GLIBC.match(name))


def licenses(paths):
    """Returns [(package, path)] of the copyright files of the Debian packages that these files and libtcc come from.

    The list is empty on a machine without dpkg."""
    found = {}
    if not shutil.which("dpkg"):
        return []
    for path in [*paths, *glob.glob("/usr/lib/*/libtcc.a")]:
        owner = subprocess.run(["dpkg", "-S", "*/" + os.path.basename(os.path.realpath(path))], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        package = owner.stdout.decode().partition(":")[0]
        text = "/usr/share/doc/%s/copyright" % package
        if package and os.path.exists(text):
            found[package] = text
    return sorted(found.items())


def platform(files):
    """Returns the platform tag of the wheel: the newest glibc version and the machine that these ELF files need."""
    newest, machine = (2, 17), None
    for path in files:
        with open(path, "rb") as f:
            data = f.read()
        machine = struct.unpack_from("<H", data, 18)[0]
        asked = [tuple(map(int, v.split(b"."))) for v in re.findall(rb"GLIBC_(\d+\.\d+)", data)]
        newest = max([newest, *asked])
    if machine not in MACHINES:
        sys.exit("wheel.py: %s is for no machine that wheels have a name for" % files[0])
    return "manylinux_%d_%d_%s" % (*newest, MACHINES[machine])


def version():
    with open(os.path.join(HERE, "kiln", "__init__.py")) as f:
        return re.search(r'^__version__ = "(.*)"$', f.read(), re.M).group(1)


def metadata():
    with open(os.path.join(HERE, "README.md")) as f:
        text = f.read()
    return ("Metadata-Version: 2.1\nName: kiln\nVersion: %s\nSummary: An ahead-of-time compiler for models of PyTorch\n"
            "Requires-Python: >=3.8\nRequires-Dist: numpy>=1.22\nProvides-Extra: torch\nRequires-Dist: torch>=1.13; "
            "extra == 'torch'\nDescription-Content-Type: text/markdown\n\n%s" % (version(), text)).encode()


ENTRY_POINTS = b"[console_scripts]\nkiln = kiln.__main__:main\n\n[torch_dynamo_backends]\nkiln = kiln.dynamo:backend\n"


class Wheel:
    """A zip writer that collects the lines of RECORD."""

    def __init__(self, path, info):
        self.zip, self.info, self.record = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), info, []

    def add(self, name, data, mode=0o644):
        member = zipfile.ZipInfo(name)                 # dated 1980, so that the bytes are the same each time
        member.external_attr, member.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
        self.zip.writestr(member, data)

    def add_file(self, name, path, mode=0o644):
        with open(path, "rb") as f:
            self.add(name, f.read(), mode)

    def close(self):
        name = self.info + "/RECORD"
        self.record.append("%s,,\n" % name)
        self.zip.writestr(zipfile.ZipInfo(name), "".join(self.record))
        self.zip.close()


def main(program, folder):
    needs = libraries(program)
    tag = "py3-none-" + platform([program, *(path for _, path in needs)])
    path = os.path.join(folder, "kiln-%s-%s.whl" % (version(), tag))
    info = "kiln-%s.dist-info" % version()
    wheel = Wheel(path + ".part", info)
    for module in sorted(glob.glob(os.path.join(HERE, "kiln", "*.py"))):
        wheel.add_file("kiln/" + os.path.basename(module), module)
    wheel.add("kiln/py.typed", b"")
    wheel.add_file("kiln/carried/kiln", program, 0o755)
    for name, library in needs:
        wheel.add_file("kiln/carried/lib/" + name, library)
    wheel.add(info + "/METADATA", metadata())
    wheel.add(info + "/WHEEL", b"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: %s\n"
              % tag.encode())
    wheel.add(info + "/entry_points.txt", ENTRY_POINTS)
    wheel.add_file(info + "/licenses/LICENSE", os.path.join(HERE, "..", "..", "LICENSE"))
    for package, text in licenses(path for _, path in needs):
        wheel.add_file("%s/licenses/%s" % (info, package), text)
    wheel.close()
    for old in glob.glob(os.path.join(folder, "kiln-*.whl")):
        os.unlink(old)
    os.rename(path + ".part", path)
    print("%s: %d bytes" % (path, os.path.getsize(path)))


if __name__ == "__main__":
    main(*sys.argv[1:])
