"""Filters survive: RDB, AOF, a killed server, replicas, a failover, too little memory."""

import hashlib
import pathlib
import sys
import tempfile

from golden import bloom_cases, bloom_header, cuckoo_cases, cuckoo_header, expect_golden, rdb_file_of
from support import Error, Server, Simple, bulk, chunks_of, free_port, run_tests, same, wait_until

MIB = 1 << 20


def fill(client, keys=1000):
    """Filters of several shapes; the digest of each."""
    client("BF.RESERVE", "small", "0.01", "10")
    client("BF.MADD", "small", *range(200))
    client("BF.RESERVE", "fixed", "0.001", str(keys), "NONSCALING")
    client("BF.MADD", "fixed", *range(keys // 2))
    client("BF.INSERT", "other", "CAPACITY", "50", "EXPANSION", "3", "ITEMS", *["x%d" % i for i in range(keys)])
    client("BF.ADD", "default", "a")
    client("CF.RESERVE", "cuckoo", "64", "BUCKETSIZE", "4", "EXPANSION", "2")
    client("CF.INSERT", "cuckoo", "ITEMS", *range(400))
    for item in range(0, 50, 2):
        client("CF.DEL", "cuckoo", item)
    client("CF.ADD", "cuckoo default", "a")
    client("CF.RESERVE", "cuckoo empty", "64")
    return digests(client)


def digests(client):
    """key -> what identifies its value: DEBUG DIGEST-VALUE, and a hash of DUMP."""
    return {key: (client("DEBUG", "DIGEST-VALUE", key)[0], hashlib.sha1(client("DUMP", key)).hexdigest()) for key in sorted(client("KEYS", "*"))}


def status_kib(server, field):
    for line in pathlib.Path("/proc/%d/status" % server.process.pid).read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise KeyError(field)


def AnRdbFileHoldsEveryFilter():
    for compression in ("yes", "no"):
        with Server("--rdbcompression", compression) as server:
            client = server.client()
            before = fill(client)
            same(client("DEBUG", "RELOAD"), Simple("OK"))
            same(digests(client), before)
            same(client("SAVE"), Simple("OK"))
            server.kill()
            server.start()
            client = server.client()
            same(digests(client), before)
            same(client.info("bf")["bf_objects"], "7")
            same(client("BF.MADD", "small", *range(200)), [0] * 200)
            same(sum(client("CF.MEXISTS", "cuckoo", *range(50, 400))), 350)


def golden_cases():
    return [("BF", case) for case in bloom_cases()] + [("CF", case) for case in cuckoo_cases()]


def expect_all_golden(client):
    cases = golden_cases()
    same(client("DBSIZE"), len(cases))
    for family, (name, _, _, pieces, dump, probes) in cases:
        expect_golden(client, family, name, pieces, dump, probes)


def AnRdbFileOfRedisBloomIsLoadedAndWrittenAgain():
    server = Server()
    file = server.folder / "dump.rdb"
    file.write_bytes(rdb_file_of([case for _, case in golden_cases()]))
    with server:
        client = server.client()
        expect_all_golden(client)
        same(client("SAVE"), Simple("OK"))
        written = file.read_bytes()
        for _, (name, _, _, _, dump, _) in golden_cases():
            same((name, dump[:1] + bytes([len(name)]) + name.encode() + dump[1:-10] in written), (name, True))
        # Settings that RedisBloom cannot have meant: a file is not refused for them.
        for setting, value in [("bf-memory-limit", "100"), ("bf-work-limit", "1"), ("cf-max-expansions", "1")]:
            same(client("CONFIG", "SET", "bf." + setting, value), Simple("OK"))
        same(client("DEBUG", "RELOAD"), Simple("OK"))
        client("CONFIG", "SET", "bf.bf-work-limit", "0")
        expect_all_golden(client)


def ADamagedRdbFileIsNotLoadedInPart():
    server = Server()
    whole = rdb_file_of([case for _, case in golden_cases()])
    server.port = free_port()
    try:
        for size in (len(whole) // 3, len(whole) - 9):
            (server.folder / "dump.rdb").write_bytes(whole[:size])
            same(server._start_once(), False)
            assert "Short read or OOM loading DB" in server.log() or "Unexpected EOF" in server.log(), server.log()
    finally:
        server.__exit__()


def AnAofOfRedisBloomIsLoaded():
    server = Server("--appendonly", "yes")
    rewritten = [bulk(family + ".LOADCHUNK", name, iterator, data)
                 for family, (name, _, _, pieces, _, _) in golden_cases() for iterator, data in pieces]
    (server.folder / "appendonly.aof").write_bytes(b"".join(rewritten))
    with server:
        expect_all_golden(server.client())


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


def AnAofHoldsEveryFilter():
    for preamble in ("yes", "no"):
        with Server("--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble) as server:
            client = server.client()
            before = fill(client)
            server.kill()
            server.start()
            client = server.client()
            same(digests(client), before)
            rewritten = lambda: client.info("persistence")["aof_rewrite_in_progress"] == "0"
            client("BGREWRITEAOF")
            wait_until(rewritten)
            server.kill()
            server.start()
            client = server.client()
            same(digests(client), before)


def ARewriteUnderWritesLosesNothing():
    for preamble in ("yes", "no"):
        with Server("--appendonly", "yes", "--aof-use-rdb-preamble", preamble, "--rdb-key-save-delay", "2000") as server:
            client = server.client()
            for i in range(100):
                client("BF.ADD", "f%d" % i, "first")
            client("BGREWRITEAOF")
            running = lambda: client.info("persistence")["aof_rewrite_in_progress"] == "1"
            wait_until(running)
            written = 0
            while running() and written < 20000:
                client("BF.MADD", "f%d" % (written % 100), *range(written, written + 20))
                written += 20
            assert written > 20, written
            before = digests(client)
            client("CONFIG", "SET", "rdb-key-save-delay", "0")
            wait_until(lambda: not running())
            server.stop()
            server.options += ["--rdb-key-save-delay", "0"]
            server.start()
            same(digests(server.client()), before)


def NothingAcknowledgedIsLostWhenTheServerIsKilled():
    with Server("--appendonly", "yes", "--appendfsync", "always") as server:
        client = server.client()
        client("BF.RESERVE", "k", "0.0001", "50")
        acknowledged = []
        for i in range(1000):
            client.send("BF.ADD", "k", i)
            if i % 10 == 9 and i < 950:
                acknowledged += [i - 9 + n for n, a in enumerate(client.read() for _ in range(10)) if a in (0, 1)]
        server.kill()  # with fifty commands on their way
        server.start()
        client = server.client()
        same(len(acknowledged), 950)
        same(client("BF.MEXISTS", "k", *acknowledged), [1] * len(acknowledged))
        card = client("BF.CARD", "k")
        assert 900 < card <= 1000, card


def follow(master, replica):
    """Makes it one, and waits until it is in step."""
    client = replica.client()
    client("REPLICAOF", "127.0.0.1", master.port)
    in_step(master, replica)
    return client


def in_step(master, replica):
    m, r = master.client(), replica.client()

    def is_in_step():
        info = r.info("replication")
        return info["master_link_status"] == "up" and info["slave_repl_offset"] == m.info("replication")["master_repl_offset"]

    wait_until(is_in_step)


def AReplicaHoldsTheSameWhateverItsSettingsAre():
    settings = ("bf-error-rate", "0.2", "BF-INITIAL-SIZE", "7", "bf-expansion-factor", "5", "bf-memory-limit", "100",
                "cf-bucket-size", "3", "cf-initial-size", "50", "cf-max-iterations", "2", "cf-expansion-factor", "4", "CF_MAX_EXPANSIONS", "1")
    fast = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
    with Server(*fast) as master, Server(*fast, module_arguments=settings) as replica:
        client = master.client()
        fill(client)
        other = follow(master, replica)
        same(digests(other), digests(client))  # full synchronisation
        client("BF.ADD", "made later", "a")
        client("BF.MADD", "m", *range(300))
        client("BF.INSERT", "i", "EXPANSION", "0", "ERROR", "0.3", "ITEMS", "a", "b")
        client("BF.INSERT", "n", "EXPANSION", "4", "NONSCALING", "ITEMS", "a")
        client("BF.INSERT", "p", "NONSCALING", "ITEMS", "a")
        client("BF.RESERVE", "q", "0.3", "9", "NONSCALING")
        client("BF.RESERVE", "s", "0.01", "9", "EXPANSION", "0")
        client("BF.RESERVE", "r", "0.01", "20")
        client("BF.MADD", "r", *range(100))
        client("EVAL", "redis.call('BF.ADD', KEYS[1], 'a')", 1, "by script")
        client("COPY", "m", "copied")
        client("CF.ADD", "c added", "a")
        client("CF.ADDNX", "c new", "a")
        client("CF.INSERT", "c grown", "CAPACITY", "8", "ITEMS", *range(200))  # to the limit of sub-filters, and beyond
        client("CF.INSERTNX", "c some", "CAPACITY", "8", "ITEMS", *[i % 9 for i in range(40)])
        client("CF.RESERVE", "c made", "64", "EXPANSION", "3")
        client("CF.INSERT", "c made", "ITEMS", *range(300))
        for item in range(200):
            client("CF.DEL", "c made", item)
        client("CF.RESERVE", "c packed", "64")
        client("CF.INSERT", "c packed", "ITEMS", *range(200))
        client("CF.DEL", "c packed", 7)
        client("CF.COMPACT", "c packed")
        client("CF.RESERVE", "c moved", "64")
        client("CF.INSERT", "c moved", "ITEMS", *range(500))
        for iterator, data in chunks_of(client, "c moved", "CF"):
            client("CF.LOADCHUNK", "c loaded", iterator, data)
        client("RESTORE", "c restored", 0, client("DUMP", "c moved"))
        in_step(master, replica)
        same(digests(other), digests(client))
        for command in [("BF.ADD", "m", "x"), ("CF.ADD", "c added", "x"), ("CF.DEL", "c added", "a"), ("CF.COMPACT", "c moved")]:
            same(other(*command), Error("READONLY You can't write against a read only replica."))

        calls = lambda: {k: v.split(",")[0] for k, v in other.info("commandstats").items() if k.startswith(("cmdstat_bf.", "cmdstat_cf."))}
        before, stream = calls(), client.info("replication")["master_repl_offset"]
        client("BF.ADD", "m", 1)  # nothing new
        client("BF.MADD", "m", 1, 2, 3)
        client("BF.INSERT", "m", "ITEMS", 4)
        client("CF.ADDNX", "c added", "a")
        client("CF.INSERTNX", "c added", "ITEMS", "a")
        client("CF.DEL", "c added", "absent")
        client("CF.COMPACT", "c added")
        in_step(master, replica)
        same(calls(), before)

        # A lost connection: what was missed follows, and nothing else.
        full = client.info("stats")["sync_full"]
        client("CLIENT", "KILL", "TYPE", "replica")
        client("BF.MADD", "m", *["missed%d" % i for i in range(500)])
        in_step(master, replica)
        same(digests(other), digests(client))
        same([client.info("stats")["sync_full"], client.info("stats")["sync_partial_ok"]], [full, "1"])
        assert int(client.info("replication")["master_repl_offset"]) > int(stream)


def WhatAFullFilterRefusedIsNotReplicated():
    fast = ("--repl-diskless-sync-delay", "0")
    with Server(*fast) as master, Server(*fast) as replica:
        client, other = master.client(), follow(master, replica)
        client("BF.INSERT", "new", "CAPACITY", "3", "ERROR", "0.0001", "NONSCALING", "ITEMS", *"abcdef")
        client("CF.RESERVE", "c", "4", "BUCKETSIZE", "1", "MAXITERATIONS", "1")
        stored = client("CF.INSERT", "c", "ITEMS", *["equal"] * 40, *["i%d" % i for i in range(100)]).count(1)
        assert 32 < stored < 140, stored
        same(client("CF.INSERT", "c", "ITEMS", "equal"), Error("Maximum expansions reached"))
        client("BF.RESERVE", "k", "0.0001", "10")
        client("CONFIG", "SET", "bf.bf-memory-limit", "400")
        answers = client("BF.MADD", "k", *range(300))
        taken = [i for i, a in enumerate(answers) if a == 1]
        same(len(answers), 300)
        assert len(taken) < 100, len(taken)
        in_step(master, replica)
        same(digests(other), digests(client))
        same(other("BF.MEXISTS", "k", *taken), [1] * len(taken))
        seen = other.info("commandstats")
        assert seen["cmdstat_bf.madd"].startswith("calls=1,"), seen


def NothingIsLostInAFailoverBehindWait():
    fast = ("--repl-diskless-sync-delay", "0")
    with Server(*fast) as master, Server(*fast) as replica:
        client, other = master.client(), follow(master, replica)
        for first in range(0, 1000, 100):
            client("BF.MADD", "k", *range(first, first + 100))
            assert client("WAIT", 1, 10000) >= 1
        master.kill()
        same(other("REPLICAOF", "NO", "ONE"), Simple("OK"))
        same(other("BF.MEXISTS", "k", *range(1000)), [1] * 1000)
        same(other("BF.ADD", "k", "and on"), 1)


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


def WrongModuleArgumentsAreRefusedWithAReason():
    for arguments, reason in [(["bf-error-rate"], "pairs"), (["bogus", "1"], "no such setting"),
                              (["bf-error-rate", "2"], "must be in the range"), (["INITIAL_SIZE", "x"], "Invalid value")]:
        with tempfile.TemporaryDirectory() as folder:
            server = Server(module_arguments=arguments, folder=folder)
            server.port = free_port()
            try:
                server._start_once()
                same(server.process.poll() is not None, True)
                assert reason in server.log(), server.log()
            finally:
                server.stop()


def ArgumentsAreDefaultsAndTheConfigurationDecides():
    arguments = ["ERROR_RATE", "0.05", "INITIAL_SIZE", "400", "bf-expansion-factor", "5"]
    with Server("--bf.bf-expansion-factor", "3", module_arguments=arguments) as server:
        client = server.client()
        client("BF.ADD", "k", "a")
        same([client("BF.INFO", "k", "CAPACITY"), client("BF.INFO", "k", "EXPANSION")], [[400], [3]])
        same(client("BF.DEBUG", "k")[1].split(b"ratio:")[1], b"0.025")


if __name__ == "__main__":
    sys.exit(run_tests("persistence", globals()) != 0)
