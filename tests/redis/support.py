"""What the tests of the Redis module share: real servers, a client that keeps the types of replies, and test lines.

A server runs on a free port of the loopback interface, in a temporary folder of its own. It ends with the `with` block, and
with the process that started it, however that ends.
"""

import ctypes
import os
import pathlib
import resource
import signal
import socket
import subprocess
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = pathlib.Path(os.environ.get("BLOOMERY_TREE", ROOT / "build/release"))
MODULE = TREE / "lib/bloomery-redis.so"
SERVER = os.environ.get("BLOOMERY_SERVER", "redis-server")
GOLDEN = ROOT / "tests/golden/redisbloom/2.8.20"


# ---- replies: as they are on the wire ----


class Simple(str):
    """A simple string, where a bulk string is bytes."""


class Error(str):
    """An error reply, without its '-'."""


class Pairs(list):
    """A map of RESP3, as a list of pairs."""


def bulk(*words):
    """A command, as it is on the wire."""
    encoded = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded)


class Client:
    def __init__(self, port, protocol=2):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        if protocol == 3:
            self("HELLO", 3)

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        self.socket.sendall(bulk(*words))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return Simple(rest.decode())
        if kind == b"-":
            return Error(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind == b",":
            return float(rest)
        if kind in (b"$", b"="):
            if rest == b"-1":
                return None
            return self.file.read(int(rest) + 2)[:-2]
        if kind in (b"*", b"~", b">"):
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return Pairs((self.read(), self.read()) for _ in range(int(rest)))
        raise ValueError(line)

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def line(self, text):
        return self(*text.split())

    def info(self, section):
        text = self("INFO", section).decode()
        return dict(l.split(":", 1) for l in text.split("\r\n") if ":" in l)


def chunks_of(client, key, family="BF"):
    """All replies of BF.SCANDUMP or CF.SCANDUMP: (iterator, bytes)."""
    iterator, chunks = 0, []
    while True:
        iterator, data = client(family + ".SCANDUMP", key, iterator)
        if iterator == 0:
            return chunks
        chunks.append((iterator, data))


def node_redis(packages, shape, port, protocol=2):
    """What node_client.js printed: the version that it found in the folder `packages`, and what it spoke. shape: single or cluster."""
    command = ["node", str(ROOT / "tests/redis/node_client.js"), shape, str(port), str(protocol)]
    done = subprocess.run(command, env={**os.environ, "NODE_PATH": str(packages)}, stdout=subprocess.PIPE, timeout=60)
    same(done.returncode, 0)
    return done.stdout.decode().strip()


# ---- servers ----


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, *options, module_arguments=(), folder=None, memory_bytes=None, config=None):
        self.own_folder = None if folder else tempfile.TemporaryDirectory(prefix="bloomery-redis-")
        self.folder = pathlib.Path(folder or self.own_folder.name)
        self.options = [str(o) for o in options]
        self.module_arguments = [str(a) for a in module_arguments]
        self.memory_bytes = memory_bytes
        self.config = [str(config)] if config else []  # a file; once CONFIG REWRITE was called it names the module, too
        self.process = None
        self.clients = []

    def start(self, port=None):
        for _ in range(5):
            self.port = port or free_port()
            if self._start_once():
                return self
        raise RuntimeError("the server does not start:\n" + self.log())

    def _start_once(self):
        command = [SERVER, *self.config, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
                   "--logfile", "server.log", "--daemonize", "no", "--enable-debug-command", "yes",
                   *self._module(), "--save", "", *self.options]

        def before():
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            if self.memory_bytes:
                resource.setrlimit(resource.RLIMIT_AS, (self.memory_bytes, self.memory_bytes))

        environment = dict(os.environ)
        if "BLOOMERY_PRELOAD" in os.environ:
            environment["LD_PRELOAD"] = os.environ["BLOOMERY_PRELOAD"]
            environment["ASAN_OPTIONS"] = "allocator_may_return_null=1:detect_leaks=0:log_path=%s" % (self.folder / "sanitizer")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=before,
                                        env=environment)
        until = time.monotonic() + 15
        while time.monotonic() < until and self.process.poll() is None:
            try:
                client = Client(self.port)
                answer = client("PING")
                client.close()
                if answer == "PONG":
                    return True
            except OSError:
                pass
            time.sleep(0.01)
        self.stop()
        return False

    def _module(self):
        if self.config and "loadmodule" in pathlib.Path(self.config[0]).read_text():
            return []
        return ["--loadmodule", str(MODULE), *self.module_arguments]

    def log(self):
        """What the sanitizer wrote, if there is one and it did, and the server's log."""
        return "".join(p.read_text(errors="replace") for p in [*self.folder.glob("sanitizer.*"), *self.folder.glob("server.log")])

    def client(self, protocol=2):
        self.clients.append(Client(self.port, protocol))
        return self.clients[-1]

    def kill(self):
        """As a power cut would, for this process."""
        self._close()
        self.process.kill()
        self.process.wait()

    def stop(self):
        self._close()
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _close(self):
        for client in self.clients:
            client.close()
        self.clients = []

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        if self.own_folder:
            self.own_folder.cleanup()


def wait_until(is_true, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_true():
            return
        time.sleep(0.01)
    raise TimeoutError("waited %d s" % seconds)


# ---- tests ----


def same(actual, expected):
    if type(actual) is not type(expected) or actual != expected:
        if isinstance(actual, dict) and isinstance(expected, dict):
            keys = [k for k in {**actual, **expected} if actual.get(k) != expected.get(k)]
            actual, expected = {k: actual.get(k) for k in keys}, {k: expected.get(k) for k in keys}
        raise AssertionError("got %r, expected %r" % (actual, expected))


def answers_of(client, rows):
    """Every command, a line or a list of words, has its answer, of the same type."""
    for command, answer in rows:
        got = client.line(command) if isinstance(command, str) else client(*command)
        if type(got) is not type(answer) or got != answer:
            raise AssertionError("%s: got %r, expected %r" % (command, got, answer))


def run_tests(program, names, *arguments):
    """Every function in `names` that is a claim (its name begins with an upper-case letter). Returns how many failed."""
    failed = 0
    for name, function in list(names.items()):
        if not name[0].isupper() or not callable(function) or isinstance(function, type):
            continue
        if function.__module__ != names["__name__"]:
            continue
        try:
            function(*arguments)
            print("ok %s.%s" % (program, name), flush=True)
        except Exception:  # whatever it is, it is this test's failure
            traceback.print_exc()
            print("not ok %s.%s" % (program, name), flush=True)
            failed += 1
            ended = [a for a in arguments if isinstance(a, Server) and a.process.poll() is not None]
            if ended:  # its log says why; the other tests cannot run
                log = ended[0].log()
                print(log[max(log.find("BUG REPORT") - 1000, 0):][:4000] if "Sanitizer" not in log else log[:4000])
                break
    return failed
