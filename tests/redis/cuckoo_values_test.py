"""The type of CF.*: RedisBloom's own bytes in and out, COPY, digests, memory, events, settings and limits."""

import sys

from golden import CUCKOO, KEYS, cuckoo_cases, cuckoo_header, dump_of, loaded_by_chunks, made_by_its_commands, restored
from support import Error, Server, Simple, answers_of, chunks_of, run_tests, same

OK = Simple("OK")


def fresh(server, protocol=2):
    client = server.client(protocol)
    same(client("FLUSHALL", "SYNC"), OK)
    return client


def info_of(client, key):
    flat = client("CF.INFO", key)
    return dict(zip(flat[::2], flat[1::2]))


# ---- RedisBloom's bytes ----


def TheSameCommandsGiveRedisBloomsBytes(server):
    made_by_its_commands(fresh(server), "CF", cuckoo_cases())


def RestoreTakesRedisBloomsDumps(server):
    restored(fresh(server), "CF", cuckoo_cases())


def LoadchunkTakesRedisBloomsChunks(server):
    loaded_by_chunks(fresh(server), "CF", cuckoo_cases())


def ARestoredFilterGrowsAndShrinks(server):
    client = fresh(server)
    for name, _, count, _, dump, _ in cuckoo_cases():
        same(client("RESTORE", name, 0, dump), OK)
        before = info_of(client, name)["Number of items inserted"]
        same(before, count)
        items = ["more-%d" % i for i in range(500)]
        same(client("CF.INSERT", name, "ITEMS", *items), [1] * 500)
        same(sum(client("CF.MEXISTS", name, *items, *KEYS[:count])), 500 + count)
        for item in items:
            same(client("CF.DEL", name, item), 1)
        same(sum(client("CF.MEXISTS", name, *KEYS[:count])), count)
        same(info_of(client, name)["Number of items inserted"], count)


def OldEncodingsAreLoaded(server):
    client = fresh(server)
    layer = b"\x01\x00" * 32  # 32 buckets of two slots
    for encoding in range(4):
        same(client("RESTORE", "k", 0, dump_of(encoding, [2, 32, 64, layer, layer], CUCKOO), "REPLACE"), OK)
        same(client("CF.DEBUG", "k"), b"bktsize:2 buckets:32 items:64 deletes:0 filters:2 max_iterations:20 expansion:1")
    same(client("RESTORE", "k", 0, dump_of(4, [2, 32, 64, 7, 2, 30, 2, 32, layer, 64, 2 * layer], CUCKOO), "REPLACE"), OK)
    same(client("CF.DEBUG", "k"), b"bktsize:2 buckets:32 items:96 deletes:7 filters:2 max_iterations:30 expansion:2")
    for encoding in (5, 1023):
        same(client("RESTORE", "n", 0, dump_of(encoding, [1, 32, 32, 0, 2, 20, 1, 32, layer], CUCKOO)), Error("ERR Bad data format"))


# ---- the data type ----


def CopyMakesAFilterOfItsOwn(server):
    client = fresh(server)
    client("CF.RESERVE", "a", "64")
    client("CF.INSERT", "a", "ITEMS", *range(300))
    same(client("COPY", "a", "b"), 1)
    same(client("DUMP", "a"), client("DUMP", "b"))
    same(client("CF.ADD", "b", "only here"), 1)
    same([client("CF.COUNT", k, "only here") - client("CF.COUNT", "a", "only here") for k in "ab"], [0, 1])
    client("DEL", "a")
    same(sum(client("CF.MEXISTS", "b", *range(300))), 300)


def DigestsAreOfTheContent(server):
    client = fresh(server)
    digest = lambda key: client("DEBUG", "DIGEST-VALUE", key)[0]
    for key, count, options in [("a", 50, []), ("b", 50, []), ("c", 49, []), ("d", 50, ["EXPANSION", 4]), ("e", 50, ["BUCKETSIZE", 4])]:
        client("CF.RESERVE", key, 1024, *options)
        client("CF.INSERT", key, "ITEMS", *range(count))
    same(digest("a"), digest("b"))
    same(len({digest(k) for k in "acde"}), 4)


def MemoryAndCountersFollow(server):
    client = fresh(server)
    client("CF.ADD", "k", "a")
    client("CF.RESERVE", "grown", "64")
    client("CF.INSERT", "grown", "ITEMS", *range(400))
    counted = int(client.info("bf")["bf_memory_bytes"])
    usage = sum(client("MEMORY", "USAGE", key) for key in ("k", "grown"))
    assert 0 < usage - counted <= 2 * 80, (usage, counted)  # the key's name, and its entry in the keyspace
    client("CF.DEL", "grown", 1)
    client("COPY", "k", "c")
    for iterator, data in chunks_of(client, "grown", "CF"):
        client("CF.LOADCHUNK", "l", iterator, data)
    info = client.info("bf")
    same([info["bf_cuckoo_objects"], info["bf_cuckoo_items"], info["bf_objects"], info["bf_items"]], ["4", "800", "4", "800"])
    client("DEL", "k", "grown", "c", "l")
    info = client.info("bf")
    same([info["bf_cuckoo_objects"], info["bf_cuckoo_items"], info["bf_memory_bytes"]], ["0", "0", "0"])


def KeyspaceEventsSayWhatChanged(server):
    client, listener = fresh(server), server.client()
    client("CONFIG", "SET", "notify-keyspace-events", "Kg")
    listener("PSUBSCRIBE", "__keyspace@0__:*")
    for line in ["CF.ADD k a", "CF.ADDNX k a", "CF.EXISTS k a", "CF.INSERTNX k ITEMS a b", "CF.RESERVE r 100", "CF.DEL k b", "CF.DEL k b",
                 "CF.COMPACT k", "CF.COMPACT k"]:
        client.line(line)
    for iterator, data in chunks_of(client, "k", "CF"):
        client("CF.LOADCHUNK", "c", iterator, data)
    client("SET", "end", "x")
    client("DEL", "end")
    seen = []
    while not seen or seen[-1][0] != b"end":
        message = listener.read()
        seen.append((message[2].split(b":")[1], message[3]))
    client("CONFIG", "SET", "notify-keyspace-events", "")
    same(seen[:-1], [(b"k", b"cuckoo.reserve"), (b"k", b"cuckoo.add"), (b"k", b"cuckoo.add"), (b"r", b"cuckoo.reserve"), (b"k", b"cuckoo.del"),
                     (b"k", b"cuckoo.compact"), (b"c", b"cuckoo.load"), (b"c", b"cuckoo.load")])


# ---- settings and limits ----


def SettingsAreRedisBlooms(server):
    client = fresh(server)
    defaults = {"cf-bucket-size": b"2", "cf-initial-size": b"1024", "cf-max-iterations": b"20", "cf-expansion-factor": b"1", "cf-max-expansions": b"32"}
    get = lambda name: client("CONFIG", "GET", "bf." + name)[1]
    same({name: get(name) for name in defaults}, defaults)
    failed = "ERR CONFIG SET failed (possibly related to argument 'bf.%s') - %s"
    out_of_range = "Value for `%s` must be in the range [%d, %d]"
    for name, value, low, high in [("cf-bucket-size", "0", 1, 255), ("cf-bucket-size", "256", 1, 255), ("cf-initial-size", "3", 4, 1 << 30),
                                   ("cf-max-iterations", "65536", 1, 65535), ("cf-expansion-factor", "-1", 0, 32768),
                                   ("cf-max-expansions", "65537", 1, 65536)]:
        same(client("CONFIG", "SET", "bf." + name, value), Error(failed % (name, out_of_range % (name, low, high))))
    same(client("CONFIG", "SET", "bf.cf-bucket-size", "x"), Error(failed % ("cf-bucket-size", "Invalid value for `cf-bucket-size`")))
    for name, value in [("cf-bucket-size", "4"), ("cf-initial-size", "16"), ("cf-max-iterations", "7"), ("cf-expansion-factor", "3")]:
        same(client("CONFIG", "SET", "bf." + name, value), OK)
    # A filter has two buckets: either setting limits the other.
    same(client("CONFIG", "SET", "bf.cf-initial-size", "7"), Error(failed % ("cf-initial-size", out_of_range % ("cf-initial-size", 8, 1 << 30))))
    same(client("CONFIG", "SET", "bf.cf-bucket-size", "9"), Error(failed % ("cf-bucket-size", out_of_range % ("cf-bucket-size", 1, 8))))
    client("CF.ADD", "k", "a")
    same(client("CF.DEBUG", "k"), b"bktsize:4 buckets:4 items:1 deletes:0 filters:1 max_iterations:7 expansion:4")
    for name, value in reversed(defaults.items()):
        same(client("CONFIG", "SET", "bf." + name, value), OK)


def AFilterHasAMemoryLimit(server):
    client = fresh(server)
    limit = Error("ERR operation exceeds bloom object memory limit")
    same(client("CONFIG", "SET", "bf.bf-memory-limit", "10kb"), OK)
    same(client("CF.RESERVE", "k", "100000"), limit)
    same(client("CF.INSERT", "k", "CAPACITY", "100000", "ITEMS", "a"), limit)
    same(client("CF.LOADCHUNK", "k", 1, cuckoo_header(buckets=65536)), limit)
    same(client("EXISTS", "k"), 0)
    answers = client("CF.INSERT", "k", "ITEMS", *range(20000))
    taken = answers.count(1)
    assert 7000 < taken < 10240, taken
    same(set(answers), {1, -1})
    same(sum(client("CF.MEXISTS", "k", *[i for i, a in enumerate(answers) if a == 1])), taken)
    refused = [i for i, a in enumerate(answers) if a == -1]
    same(client("CF.ADD", "k", refused[-1]), limit)
    client("CONFIG", "SET", "bf.bf-memory-limit", "0")
    same(client("CF.ADD", "k", refused[-1]), 1)


def ACommandHasAWorkLimit(server):
    client = fresh(server)
    refused = Error("ERR command exceeds bf-work-limit")
    client("CF.RESERVE", "k", "64")
    client("CF.INSERT", "k", "ITEMS", *range(300))
    before = int(client.info("bf")["bf_refused_work_limit"])
    client("CONFIG", "SET", "bf.bf-work-limit", "1000")
    answers_of(client, [
        (["CF.MEXISTS", "k", *range(100)], refused),
        (["CF.INSERT", "k", "ITEMS", *range(100)], refused),
        (["CF.INSERTNX", "new", "ITEMS", *range(100)], refused),
        ("CF.COMPACT k", refused),
        ("EXISTS new", 0),
        (["CF.MEXISTS", "k", *range(10)], [1] * 10),
    ])
    client("CONFIG", "SET", "bf.bf-work-limit", "5")
    answers_of(client, [("CF.ADD k 1", refused), ("CF.ADDNX k 1", refused), ("CF.EXISTS k 1", refused), ("CF.COUNT k 1", refused),
                        ("CF.DEL k 1", refused)])
    same(int(client.info("bf")["bf_refused_work_limit"]) - before, 9)
    client("CONFIG", "SET", "bf.bf-work-limit", "0")
    same(sum(client("CF.MEXISTS", "k", *range(300))), 300)
    client("CONFIG", "SET", "bf.bf-work-limit", "1000000000")
    same(client("CF.COMPACT", "k"), OK)


def ScriptsAndTransactionsUseThem(server):
    client = fresh(server)
    same(client("EVAL", "return redis.call('CF.INSERTNX', KEYS[1], 'ITEMS', 'a', 'b', 'a')", 1, "k"), [1, 1, 0])
    answers_of(client, [("MULTI", OK), ("CF.ADD k c", Simple("QUEUED")), ("CF.DEL k c", Simple("QUEUED")), ("EXEC", [1, 1])])


if __name__ == "__main__":
    with Server() as started:
        sys.exit(run_tests("cuckoo_values", globals(), started) != 0)
