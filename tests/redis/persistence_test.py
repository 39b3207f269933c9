"""Filters survive: RDB, AOF, a killed server. RedisBloom's files, and settings in files."""

import pathlib
import sys
import tempfile

from golden import bloom_cases, cuckoo_cases, expect_golden, rdb_file_of
from shapes import digests, fill
from support import Server, Simple, bulk, free_port, run_tests, same, wait_until


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
            for i in range(50):
                client("BF.ADD", "f%d" % i, "first")
                client("CF.RESERVE", "c%d" % i, 8)
            client("BGREWRITEAOF")
            running = lambda: client.info("persistence")["aof_rewrite_in_progress"] == "1"
            wait_until(running)
            written = 0
            while running() and written < 20000:
                client("BF.MADD", "f%d" % (written // 20 % 50), *range(written, written + 20))
                client("CF.INSERT", "c%d" % (written // 20 % 50), "ITEMS", *range(written, written + 4))
                client("CF.DEL", "c%d" % (written // 20 % 50), written + 1)
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
        client("CF.RESERVE", "c", "100")
        acknowledged = []
        for i in range(1000):
            client.send("BF.ADD", "k", i)
            client.send("CF.ADD", "c", i)
            if i % 10 == 9 and i < 950:
                answers = [(client.read(), client.read()) for _ in range(10)]
                acknowledged += [i - 9 + n for n, (bloom, cuckoo) in enumerate(answers) if bloom in (0, 1) and cuckoo == 1]
        server.kill()  # with a hundred commands on their way
        server.start()
        client = server.client()
        same(len(acknowledged), 950)
        same(client("BF.MEXISTS", "k", *acknowledged), [1] * len(acknowledged))
        same(client("CF.MEXISTS", "c", *acknowledged), [1] * len(acknowledged))
        card = client("BF.CARD", "k")
        assert 900 < card <= 1000, card


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


def SettingsAreWrittenToTheConfigurationFile():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "redis.conf"
        file.write_text("bf.bf-initial-size 300\n")
        wanted = {"bf-error-rate": b"0.002", "bf-initial-size": b"300", "cf-max-expansions": b"7", "bf-memory-limit": b"1048576"}
        with Server(config=file) as server:
            client = server.client()
            same(client("CONFIG", "SET", "bf.bf-error-rate", "0.002", "bf.cf-max-expansions", "7", "bf.bf-memory-limit", "1mb"), Simple("OK"))
            same(client("CONFIG", "REWRITE"), Simple("OK"))
            for _ in range(2):
                same({name: client("CONFIG", "GET", "bf." + name)[1] for name in wanted}, wanted)
                server.kill()
                server.start()
                client = server.client()
        text = file.read_text()
        same([line for line in text.splitlines() if "bf-error-rate" in line], ['bf.bf-error-rate "0.002"'])


if __name__ == "__main__":
    sys.exit(run_tests("persistence", globals()) != 0)
