"""What the tests of the examples share, beside tests/redis/support.py: running a program, and holding a README to it.

A test is a program of functions whose names are claims:

    from example import *

    def ItsOutputIsThatOfTheReadme():
        same_as_readme("coupons")

    sys.exit(run_tests("coupons", globals()))
"""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from support import *  # noqa: F401,F403
from support import ROOT, TREE, same, wait_until


def program(name):
    """The command of a built example, or of one that is a Python program."""
    built = TREE / "examples" / name
    if built.exists():
        return [str(built)]
    script = ROOT / "examples" / name / (name.replace("-", "_") + ".py")
    if not script.exists():
        raise FileNotFoundError("%s is not built: its libraries were missing when the build was configured" % name)
    return [sys.executable, str(script)]


def output_of(name, *arguments, status=0, **options):
    """What the example prints; its messages with it when it does not end with `status`."""
    done = subprocess.run([*program(name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, **options)
    if done.returncode != status:
        raise AssertionError("%s ended with %d:\n%s%s" % (name, done.returncode, done.stdout.decode(), done.stderr.decode()))
    return done.stdout.decode()


def number(text, pattern):
    """The number that a pattern with one group finds in a text: 1,234.5 or 12 %."""
    found = re.search(pattern, text)
    if not found:
        raise AssertionError("no %r in:\n%s" % (pattern, text))
    return float(found.group(1).replace(",", ""))


def at_most(value, limit):
    if not value <= limit:
        raise AssertionError("%r is more than %r" % (value, limit))


def at_least(value, limit):
    if not value >= limit:
        raise AssertionError("%r is less than %r" % (value, limit))


def shape_of(text):
    """A text without its numbers and the width of its columns."""
    return [re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*", "#", line)).strip() for line in text.strip().splitlines()]


def same_as_readme(name, run=None):
    """The blocks ```shell-session of the example's README are what its program prints, but for the numbers. A command is
    `examples/run NAME ARGUMENT...`; `run` turns the arguments into the output."""
    readme = (ROOT / "examples" / name / "README.md").read_text()
    blocks = re.findall(r"^```shell-session\n(.*?)^```", readme, re.S | re.M)
    if not blocks:
        raise AssertionError("the README shows no output")
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            words = command.split("#")[0].split()
            same(words[:2], ["examples/run", name])
            printed = run(words[2:]) if run else output_of(name, *words[2:])
            same(shape_of(printed), shape_of(expected))


class Postgres:
    """A PostgreSQL server of the test's own, on a socket in a folder of its own. It does not run as root: then it is Debian's user
    postgres. `address` is for libpq, `log()` has every statement that it ran."""

    def __init__(self):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: float(p.parts[4]))
        self.programs = programs[-1].parent
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}

    def _run(self, program, *arguments, **options):
        return [str(self.programs / program), *arguments], {"cwd": self.folder.name, **self.user, **options}

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bloomery-postgres-", dir="/tmp")  # its user must be able to enter
        if self.user:
            shutil.chown(self.folder.name, "postgres", "postgres")
        command, options = self._run("initdb", "-D", "data", "-U", "me", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync",
                                     "--no-instructions")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
        self.log_file = open(self.folder.name + "/log", "w+b")
        settings = {"listen_addresses": "", "unix_socket_directories": self.folder.name, "fsync": "off", "log_statement": "all",
                    "autovacuum": "off", "shared_buffers": "16MB"}
        command, options = self._run("postgres", "-D", "data", *("--%s=%s" % each for each in settings.items()))
        self.process = subprocess.Popen(command, stdout=self.log_file, stderr=self.log_file, preexec_fn=end_with_parent, **options)
        self.address = "host=%s user=me dbname=postgres" % self.folder.name
        wait_until(lambda: "ready to accept connections" in self.log())
        return self

    def log(self):
        return pathlib.Path(self.log_file.name).read_text()

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGQUIT)  # immediate: nothing of it is kept
        self.process.wait(20)
        self.log_file.close()
        self.folder.cleanup()


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
