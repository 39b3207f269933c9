"""Filters and the server's memory: what saving takes, maxmemory, and requests that are refused."""

import pathlib
import sys

from golden import bloom_header, cuckoo_header
from support import Error, Server, Simple, run_tests, same

MIB = 1 << 20


def status_kib(server, field):
    for line in pathlib.Path("/proc/%d/status" % server.process.pid).read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise KeyError(field)


def SavingAndLoadingTakeLittleMemoryOfTheirOwn():
    with Server("--rdbcompression", "no") as server:
        client = server.client()
        client("BF.RESERVE", "k", "0.01", "50000000", "NONSCALING")
        for first in range(0, 100000, 10000):  # touches all pages
            client("BF.MADD", "k", *range(first, first + 10000))
        for command in (["SAVE"], ["DEBUG", "RELOAD"]):
            resident = status_kib(server, "VmRSS")
            pathlib.Path("/proc/%d/clear_refs" % server.process.pid).write_text("5")  # the peak is what is there now
            same(client(*command), Simple("OK"))
            peak = status_kib(server, "VmHWM") - resident
            print("%s: %d KiB above the resident set of %d KiB" % (" ".join(command), peak, resident))
            assert resident > 50 * 1024 and peak <= 8 * 1024, (command, peak, resident)


def AtMaxmemoryAFilterDoesNotGrow():
    with Server("--maxmemory", "32mb", "--maxmemory-policy", "noeviction") as server:
        client = server.client()
        full = Error("ERR Insufficient memory to create filter")
        same(client("BF.RESERVE", "huge", "0.01", "1000000000"), full)
        same(client("BF.RESERVE", "large", "0.01", "40000000"), full)
        same(client("CF.RESERVE", "large", 1 << 26), full)
        same(client("CF.LOADCHUNK", "large", 1, cuckoo_header(buckets=1 << 20, filters=32)), full)
        same(client("CF.RESERVE", "grows too", 1 << 21, "EXPANSION", "16"), Simple("OK"))
        same(client("CF.INSERT", "grows too", "ITEMS", *["equal"] * 5), [1] * 4 + [-1])
        same(client("DEL", "grows too"), 1)
        same(client("BF.RESERVE", "fits", "0.01", "10000000"), Simple("OK"))
        same(client("BF.RESERVE", "again", "0.01", "20000000"), full)
        same(client("BF.RESERVE", "grows", "0.5", "2"), Simple("OK"))
        refused, taken = Error("ERR problem inserting into filter"), 0
        for first in range(0, 10 * MIB, 20000):
            answers = client("BF.MADD", "grows", *range(first, first + 20000))
            if isinstance(answers, Error):
                same(answers.split()[0], "OOM")
                break
            failed = [a for a in answers if isinstance(a, Error)]
            if failed:
                same(set(failed), {refused})
                break
            taken += 20000
        assert taken > 0
        same(sum(client("BF.MEXISTS", "grows", *range(20000))), 20000)
        assert int(client.info("bf")["bf_refused_memory"]) >= 3
        same(client("PING"), Simple("PONG"))


def WithEvictionOthersMakeRoom():
    with Server("--maxmemory", "16mb", "--maxmemory-policy", "allkeys-lru", "--lazyfree-lazy-eviction", "no") as server:
        client = server.client()
        for i in range(40):
            same(client("BF.RESERVE", "f%d" % i, "0.01", "1000000"), Simple("OK"))
        assert int(client.info("stats")["evicted_keys"]) > 20
        same(client("BF.RESERVE", "huge", "0.01", "100000000"), Error("ERR Insufficient memory to create filter"))
        objects, keys = client.info("bf")["bf_objects"], client("DBSIZE")
        same(int(objects), keys)


def ARefusedAllocationIsAnErrorAndTheServerLivesOn():
    with Server(memory_bytes=640 * MIB) as server:
        client = server.client()
        full = Error("ERR Insufficient memory to create filter")
        same(client("BF.RESERVE", "huge", "0.01", "1000000000"), full)
        same(client("BF.INSERT", "huge", "CAPACITY", "1000000000", "ITEMS", "a"), full)
        same(client("EXISTS", "huge"), 0)
        # A filter whose next sub-filter is refused.
        same(client("BF.RESERVE", "k", "0.0001", "100", "EXPANSION", "32768"), Simple("OK"))
        client("BF.MADD", "k", *range(101))
        for i in range(3000000, 3000010):
            client("BF.ADD", "k", i)
        same(client("BF.RESERVE", "k2", "0.0001", "20000", "EXPANSION", "32768"), Simple("OK"))
        items = list(range(20100))
        answers = client("BF.MADD", "k2", *items)
        refused = [i for i in items if isinstance(answers[i], Error)]
        same({answers[i] for i in refused}, {Error("ERR problem inserting into filter")})
        assert 0 < len(refused) <= 100, len(refused)
        same(client("BF.ADD", "k2", refused[0]), Error("ERR problem inserting into filter"))
        same(sum(client("BF.MEXISTS", "k2", *[i for i in items if i not in set(refused)])), len(items) - len(refused))
        # Equal items have four slots in a sub-filter; the next one would have 1 GiB.
        same(client("CF.RESERVE", "c", 1 << 26, "EXPANSION", "16"), Simple("OK"))
        same(client("CF.INSERT", "c", "ITEMS", *["equal"] * 6, "other"), [1] * 4 + [-1, -1, 1])
        same(client("CF.ADD", "c", "equal"), Error("ERR Insufficient memory"))
        same(client("CF.COUNT", "c", "equal"), 4)
        same(client("DEL", "c"), 1)
        same(client("COPY", "k2", "k3"), 1)
        assert int(client.info("bf")["bf_refused_memory"]) >= 4
        same(client("PING"), Simple("PONG"))


def AHeaderMayNotStateMoreThanTheSystemHas():
    """Every sub-filter fits, all of them together do not."""
    with Server(memory_bytes=640 * MIB) as server:
        client = server.client()
        for command in [("CF.LOADCHUNK", "k", 1, cuckoo_header(buckets=1 << 25, filters=32)),
                        ("CF.LOADCHUNK", "k", 1, cuckoo_header(buckets=1 << 31)), ("CF.RESERVE", "k", 1 << 30),
                        ("BF.LOADCHUNK", "k", 1, bloom_header(size_bytes=1 << 26, capacity=1000, links=20))]:
            same(client(*command), Error("ERR Insufficient memory to create filter"))
        same([client("EXISTS", "k"), client.info("bf")["bf_memory_bytes"]], [0, "0"])


if __name__ == "__main__":
    sys.exit(run_tests("memory", globals()) != 0)
