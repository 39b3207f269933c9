"""The data type: RedisBloom's own bytes in and out, COPY, DEBUG DIGEST, MEMORY USAGE, and what the server learns of commands."""

import re
import struct
import sys

from golden import KEYS, bloom_cases, bloom_header, dump_of, loaded_by_chunks, made_by_its_commands, restored
from support import GOLDEN, ROOT, Error, Server, Simple, chunks_of, run_tests, same, wait_until


def fresh(server, protocol=2):
    client = server.client(protocol)
    same(client("FLUSHALL", "SYNC"), Simple("OK"))
    return client


def TheSameCommandsGiveRedisBloomsBytes(server):
    made_by_its_commands(fresh(server), "BF", bloom_cases())


def RestoreTakesRedisBloomsDumps(server):
    restored(fresh(server), "BF", bloom_cases())


def LoadchunkTakesRedisBloomsChunks(server):
    loaded_by_chunks(fresh(server), "BF", bloom_cases())


def ARestoredFilterGrowsOn(server):
    client = fresh(server)
    for name, _, count, _, dump, _ in bloom_cases():
        if "nonscaling" in name:
            continue
        same(client("RESTORE", name, 0, dump), Simple("OK"))
        before = client("BF.CARD", name)
        items = ["more-%d" % i for i in range(500)]
        added = client("BF.MADD", name, *items)
        same(sum(client("BF.MEXISTS", name, *items)), 500)
        same(sum(client("BF.MEXISTS", name, *KEYS[:count])), count)
        same(client("BF.CARD", name), before + sum(added))


def OldEncodingsAreLoaded(server):
    client = fresh(server)
    rounded = [100, 0.01, 7, 9.585058, 1024, 10, bytes(128), 0]  # 2^10 bits; capacity, FPR, hashes, bits per key, bits, n2
    for encoding, head in [(1, [0, 1]), (2, [0, 1, 4]), (3, [0, 1, 4]), (4, [0, 1, 4, 3])]:
        same(client("RESTORE", "k", 0, dump_of(encoding, head + rounded), "REPLACE"), Simple("OK"))
        same(client("BF.INFO", "k", "EXPANSION"), [3 if encoding == 4 else 2])
        width = b"32" if encoding == 1 else b"64"
        same(client("BF.DEBUG", "k")[1].split(b"hashwidth:")[1].split()[0], width)
        client("BF.MADD", "k", *range(500))
        same(sum(client("BF.MEXISTS", "k", *range(500))), 500)
    whole = [100, 0.01, 7, 10.24, bytes(128), 0]  # encoding 0: the bits are capacity times bits per key
    same(client("RESTORE", "o", 0, dump_of(0, [0, 1] + whole)), Error("ERR Bad data format"))  # 10.24 takes 8 hashes
    whole[2] = 8
    same(client("RESTORE", "o", 0, dump_of(0, [0, 1] + whole)), Simple("OK"))
    for encoding in (5, 1023):
        same(client("RESTORE", "n", 0, dump_of(encoding, [0, 1, 4, 2] + rounded)), Error("ERR Bad data format"))


def DamagedDumpsAreRefused(server):
    client = fresh(server)
    bad = Error("ERR Bad data format")
    dump = (GOLDEN / "bf_default.rdbdump.bin").read_bytes()
    taken = 0
    client("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "1")
    try:
        for at in range(9, len(dump) - 10):
            for value in (dump[at] ^ 0xFF, dump[at] ^ 1, 0):
                answer = client("RESTORE", "k", 0, dump[:at] + bytes([value]) + dump[at + 1:], "REPLACE")
                if answer == "OK":
                    taken += 1
                    answers = client("BF.MADD", "k", *range(200))  # a damaged one may be full
                    inserted = [i for i, a in enumerate(answers) if not isinstance(a, Error)]
                    same(sum(client("BF.MEXISTS", "k", "a", *inserted)) >= len(inserted), True)
                else:
                    same(answer, bad)
    finally:
        client("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "0")
    assert taken > 0  # bits, which can be any
    client("FLUSHALL", "SYNC")
    same(client.info("bf")["bf_memory_bytes"], "0")


def HostileHeadersAllocateNothing(server):
    client = fresh(server)
    bad = Error("ERR received bad data")

    good = bloom_header()
    same(client("BF.LOADCHUNK", "good", 1, good), Simple("OK"))
    for wrong in [bloom_header(bits=1151), bloom_header(error=0.0), bloom_header(error=1.0), bloom_header(error=float("nan")), bloom_header(hashes=9), bloom_header(n2=64),
                  bloom_header(n2=20), bloom_header(options=16), bloom_header(size_bytes=0), bloom_header(links=0), bloom_header(size_bytes=1 << 61, bits=1 << 63),
                  bloom_header(size_bytes=1 << 58, links=100), good + b"x", struct.pack("<QIII", 1, 1, 5, 2) + good[20:],
                  bloom_header(per_key=1e300, hashes=4294967295), bloom_header(keys=1 << 63, links=2)]:
        same(client("BF.LOADCHUNK", "k", 1, wrong), bad)
    huge = client("BF.LOADCHUNK", "k", 1, bloom_header(size_bytes=1 << 50))
    same(huge, Error("ERR Insufficient memory to create filter"))
    same(client("EXISTS", "k"), 0)
    same(client.info("bf")["bf_objects"], "1")


def CopyMakesAFilterOfItsOwn(server):
    client = fresh(server)
    client("BF.RESERVE", "a", "0.01", "10")
    client("BF.MADD", "a", *range(100))
    same(client("COPY", "a", "b"), 1)
    same(client("DUMP", "a"), client("DUMP", "b"))
    client("BF.ADD", "b", "only here")
    same([client("BF.EXISTS", k, "only here") for k in "ab"], [0, 1])
    client("DEL", "a")
    same(sum(client("BF.MEXISTS", "b", *range(100))), 100)


def DigestsAreOfTheContent(server):
    client = fresh(server)
    digest = lambda key: client("DEBUG", "DIGEST-VALUE", key)[0]
    client("BF.MADD", "a", *range(50))
    client("BF.MADD", "b", *range(50))
    client("BF.MADD", "c", *range(49))
    client("BF.RESERVE", "d", "0.01", "100", "NONSCALING")
    client("BF.MADD", "d", *range(50))
    same(digest("a"), digest("b"))
    same(len({digest(k) for k in "acd"}), 3)


def MemoryUsageIsWhatTheAllocatorGave(server):
    client = fresh(server)
    client("BF.ADD", "k", "a")
    client("BF.MADD", "large", *range(20000))
    counted = int(client.info("bf")["bf_memory_bytes"])
    usage = sum(client("MEMORY", "USAGE", key) for key in ("k", "large"))
    # The server adds the key's name and its entry in the keyspace.
    assert 0 < usage - counted <= 2 * 80, (usage, counted)
    client("DEL", "k", "large")
    same(client.info("bf")["bf_memory_bytes"], "0")


def ADefaultFilterHasAtMost365BytesOfUsedMemory(server):
    client = fresh(server)
    used = lambda: int(client.info("memory")["used_memory"])
    count = 20000
    for i in range(2000):
        client("BF.ADD", "warm:%06d" % i, "a")
    before = used()
    for i in range(count):
        client.send("BF.ADD", "k:%09d" % i, "a")
        if i % 500 == 499:
            for _ in range(500):
                client.read()
    # The server moves its table of keys to a larger one step by step, and has both meanwhile.
    per_key = lambda: (used() - before) / count
    wait_until(lambda: per_key() <= 365)
    print("a default filter has %.0f bytes of used_memory" % per_key())
    client("FLUSHALL", "SYNC")


def UnlinkFreesInTheBackground(server):
    client = fresh(server)
    freed = lambda: int(client.info("memory")["lazyfreed_objects"])
    client("BF.RESERVE", "k", "0.001", "10000000")
    wait_until(lambda: client.info("memory")["lazyfree_pending_objects"] == "0")
    before = freed()
    same(client("UNLINK", "k"), 1)
    wait_until(lambda: freed() > before)
    info = lambda: [client.info("bf")[name] for name in ("bf_objects", "bf_items", "bf_memory_bytes")]
    wait_until(lambda: info() == ["0", "0", "0"])


def DefragmentingKeepsEveryFilter(server):
    client = fresh(server)
    for i in range(20000):
        client.send("BF.INSERT", "k%d" % i, "CAPACITY", 10 + i % 500, "ITEMS", *range(i, i + 3))
        if i % 200 == 199:
            same([client.read() for _ in range(200)], [[1, 1, 1]] * 200)
    for i in range(0, 20000, 14):  # cuckoo filters among them
        client("DEL", "k%d" % i)
        client("CF.INSERT", "k%d" % i, "CAPACITY", 10 + i % 500, "ITEMS", *range(i, i + 3))
    client("DEL", *["k%d" % i for i in range(20000) if i % 7])
    kept = ["k%d" % i for i in range(0, 20000, 7)]
    before = [client("DUMP", key) for key in kept]
    memory = client.info("bf")["bf_memory_bytes"]
    for name, value in [("active-defrag-ignore-bytes", "1"), ("active-defrag-threshold-lower", "0"), ("active-defrag-threshold-upper", "1"),
                        ("active-defrag-cycle-min", "70"), ("activedefrag", "yes")]:
        same(client("CONFIG", "SET", name, value), Simple("OK"))
    wait_until(lambda: int(client.info("stats")["active_defrag_hits"]) > 2000)
    client("CONFIG", "SET", "activedefrag", "no")
    same([client("DUMP", key) for key in kept], before)
    same(client.info("bf")["bf_memory_bytes"], memory)


def can_defragment(server):
    """Debian's redis-server cannot: its allocator is the system's."""
    client = server.client()
    able = client("CONFIG", "SET", "activedefrag", "yes") == "OK"
    client("CONFIG", "SET", "activedefrag", "no")
    return able


def InfoCountsObjectsItemsAndCommands(server):
    client = fresh(server)
    before = int(client.info("bf")["bf_commands"])
    client("BF.MADD", "a", *range(30))
    client("BF.ADD", "b", "x")
    client("BF.ADD", "b", "x")
    client("COPY", "a", "c")
    info = client.info("bf")
    same([info["bf_objects"], info["bf_items"], int(info["bf_commands"]) - before], ["3", "61", 3])
    client("DEL", "a")
    same(client.info("bf")["bf_items"], "31")
    assert re.fullmatch(r"\d+\.\d+\.\d+", info["bf_version"])


def KeyspaceEventsSayWhatChanged(server):
    client, listener = fresh(server), server.client()
    client("CONFIG", "SET", "notify-keyspace-events", "Kg")
    listener("PSUBSCRIBE", "__keyspace@0__:*")

    def events():
        client("SET", "end", "x")
        client("DEL", "end")
        seen = []
        while True:
            message = listener.read()
            if message[2] == b"__keyspace@0__:end":
                return seen
            seen.append((message[2].split(b":")[1], message[3]))

    client("BF.ADD", "k", "a")
    client("BF.ADD", "k", "a")
    client("BF.EXISTS", "k", "a")
    client("BF.MADD", "k", "a", "b")
    client("BF.RESERVE", "r", "0.01", "100")
    same(events(), [(b"k", b"bloom.reserve"), (b"k", b"bloom.add"), (b"k", b"bloom.add"), (b"r", b"bloom.reserve")])
    for iterator, data in chunks_of(client, "k"):
        client("BF.LOADCHUNK", "c", iterator, data)
    same(events(), [(b"c", b"bloom.load")] * 2)
    client("CONFIG", "SET", "notify-keyspace-events", "")


# ---- what the server learns of commands ----

RW = {Simple("RW")}
RO = {Simple("RO")}


def info_of(client, name):
    answer = client("COMMAND", "INFO", name)[0]
    spec = answer[8][0]
    return {"arity": answer[1], "flags": set(answer[2]), "keys": answer[3:6], "key_flags": set(spec[spec.index(b"flags") + 1])}


def CommandInfoHasFlagsArityAndKeys(server):
    client = fresh(server)
    arity = {"bf.reserve": -4, "bf.add": 3, "bf.madd": -3, "bf.insert": -4, "bf.exists": 3, "bf.mexists": -3, "bf.info": -2,
             "bf.card": 2, "bf.debug": 2, "bf.scandump": 3, "bf.loadchunk": 4,
             "cf.reserve": -3, "cf.add": 3, "cf.addnx": 3, "cf.insert": -4, "cf.insertnx": -4, "cf.exists": 3, "cf.mexists": -3,
             "cf.count": 3, "cf.del": 3, "cf.compact": 2, "cf.info": 2, "cf.debug": 2, "cf.scandump": 3, "cf.loadchunk": 4}
    same(set(client("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")), {n.encode() for n in arity})
    flags = {name: {"write", "denyoom"} for name in
             ["bf.reserve", "bf.add", "bf.madd", "bf.insert", "bf.loadchunk", "cf.reserve", "cf.add", "cf.addnx", "cf.insert", "cf.insertnx",
              "cf.loadchunk"]}
    flags.update({"cf.del": {"write", "fast"}, "cf.compact": {"write"}})  # which give memory back
    for name, count in arity.items():
        info = info_of(client, name)
        same([info["arity"], info["keys"]], [count, [1, 1, 1]])
        same({str(f) for f in info["flags"]} - {"module"}, flags.get(name, {"readonly", "fast"}))
        assert Simple("RW" if name in flags else "RO") in info["key_flags"], name


def AclPermissionsFollowReadAndWrite(server):
    client = fresh(server)
    client("BF.ADD", "k", "a")
    client("ACL", "SETUSER", "reader", "on", "nopass", "%R~*", "+@all")
    client("ACL", "SETUSER", "writer", "on", "nopass", "%W~*", "+@all")
    other = server.client()
    denied = "NOPERM"
    for user, command, is_allowed in [("reader", "BF.EXISTS k a", True), ("reader", "BF.SCANDUMP k 0", True), ("reader", "BF.INFO k", True),
                                      ("reader", "BF.ADD k a", False), ("reader", "BF.RESERVE n 0.1 10", False),
                                      ("reader", "BF.LOADCHUNK n 1 x", False), ("writer", "BF.RESERVE n 0.1 10", True),
                                      ("reader", "CF.SCANDUMP c 0", True), ("reader", "CF.COUNT c a", True), ("reader", "CF.DEL c a", False),
                                      ("reader", "CF.COMPACT c", False), ("writer", "CF.COMPACT c", True), ("writer", "CF.RESERVE m 10", True),
                                      ("writer", "CF.MEXISTS c a", False),
                                      ("writer", "BF.EXISTS k a", False), ("writer", "BF.ADD k a", False)]:
        other("AUTH", user, "x")
        answer = other.line(command)
        same((user, command, not (isinstance(answer, Error) and answer.startswith(denied))), (user, command, is_allowed))
    client("ACL", "DELUSER", "reader", "writer")


def CategoriesHaveTheirCommands(server):
    client = fresh(server)
    commands = {c.decode() for c in client("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")}
    for category, family in [("bloom", "bf."), ("cuckoo", "cf.")]:
        listed = {c.decode() for c in client("COMMAND", "LIST", "FILTERBY", "ACLCAT", category)}
        same(listed, {c for c in commands if c.startswith(family)})
    client("ACL", "SETUSER", "counter", "on", "nopass", "~*", "-@all", "+@bloom", "-@write")
    other = server.client()
    other("AUTH", "counter", "x")
    same([other("BF.EXISTS", "k", "a"), other("BF.CARD", "k")], [0, 0])
    for command in ["BF.ADD k a", "CF.EXISTS k a", "GET k"]:
        same(other.line(command).split()[0], "NOPERM")
    client("ACL", "DELUSER", "counter")


def docs_of(client):
    """name -> (summary, complexity, since, syntax), as COMMAND DOCS has them."""
    def pairs(flat):
        return dict(zip([x.decode() for x in flat[::2]], flat[1::2]))

    def syntax(argument):
        a = pairs(argument)
        kind, flags = a["type"].decode(), {str(f) for f in a.get("flags", [])}
        if kind == "oneof":
            text = " | ".join(syntax(part) for part in a["arguments"])
        else:
            words = [a["token"].decode()] if "token" in a else []
            if kind != "pure-token":
                words.append(a["name"].decode())
            text = " ".join(words)
        if "multiple" in flags:
            text += " [" + text + " ...]"
        return "[" + text + "]" if "optional" in flags else text

    answer = {}
    flat = client("COMMAND", "DOCS", *client("COMMAND", "LIST", "FILTERBY", "MODULE", "bf"))
    for name, doc in zip(flat[::2], flat[1::2]):
        d = pairs(doc)
        same(d["group"], b"module")
        answer[name.decode()] = (d["summary"].decode(), d["complexity"].decode(), d["since"].decode(),
                                 " ".join([name.decode().upper()] + [syntax(a) for a in d["arguments"]]))
    return answer


def CommandDocsDescribeEveryCommand(server):
    docs = docs_of(fresh(server))
    same(docs["bf.add"], ("Adds an item to a Bloom Filter",
                          "O(k), where k is the number of hash functions used by the last sub-filter", "1.0.0", "BF.ADD key item"))
    same(docs["bf.card"][2], "2.4.4")
    same(docs["bf.info"][3], "BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]")
    same(docs["bf.reserve"][3], "BF.RESERVE key error_rate capacity [EXPANSION expansion] [NONSCALING]")
    same(docs["bf.insert"][3], "BF.INSERT key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] ITEMS item [item ...]")


def TheManualListsEveryCommandWithItsSyntax(server):
    text = (ROOT / "docs/redis.md").read_text()
    for name, (_, complexity, _, syntax) in docs_of(fresh(server)).items():
        assert "| `%s` |" % syntax.replace("|", "\\|") in text, "docs/redis.md has no row for " + syntax


# ---- settings ----


def SettingsAreRedisBlooms(server):
    client = fresh(server)
    get = lambda name: client("CONFIG", "GET", "bf." + name)[1]
    same([get("bf-error-rate"), get("bf-initial-size"), get("bf-expansion-factor")], [b"0.01", b"100", b"2"])
    failed = "ERR CONFIG SET failed (possibly related to argument 'bf.%s') - %s"
    for name, value, why in [("bf-error-rate", "x", "Invalid value for `bf-error-rate`"),
                             ("bf-error-rate", "1", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"),
                             ("bf-initial-size", "0", "Value for `bf-initial-size` must be in the range [1, 1073741824]"),
                             ("bf-initial-size", "1.5", "Invalid value for `bf-initial-size`"),
                             ("bf-expansion-factor", "32769", "Value for `bf-expansion-factor` must be in the range [0, 32768]")]:
        same(client("CONFIG", "SET", "bf." + name, value), Error(failed % (name, why)))
    for name, value in [("bf-error-rate", "0.6"), ("bf-initial-size", "500"), ("bf-expansion-factor", "4")]:
        same(client("CONFIG", "SET", "bf." + name, value), Simple("OK"))
    same(get("bf-error-rate"), b"0.25")
    client("BF.ADD", "k", "a")
    same(client("BF.INFO", "k")[1::2][0], 500)
    same(client("BF.INFO", "k", "EXPANSION"), [4])
    same(client("BF.DEBUG", "k")[1].split(b"ratio:")[1], b"0.125")
    client("CONFIG", "SET", "bf.bf-expansion-factor", "0")
    client("BF.RESERVE", "n", "0.01", "10")
    same(client("BF.INFO", "n", "EXPANSION"), [None])
    for name, value in [("bf-error-rate", "0.01"), ("bf-initial-size", "100"), ("bf-expansion-factor", "2")]:
        client("CONFIG", "SET", "bf." + name, value)


def AFilterHasAMemoryLimit(server):
    client = fresh(server)
    limit = Error("ERR operation exceeds bloom object memory limit")
    client("BF.RESERVE", "large", "0.01", "1000000")
    same(client("CONFIG", "SET", "bf.bf-memory-limit", "10kb"), Simple("OK"))
    before = int(client.info("bf")["bf_refused_memory_limit"])
    same(client("BF.RESERVE", "k", "0.01", "100000"), limit)
    same(client("BF.INSERT", "k", "CAPACITY", "100000", "ITEMS", "a"), limit)
    header = client("BF.SCANDUMP", "large", 0)[1]
    same(client("BF.LOADCHUNK", "k", 1, header), limit)
    same(client("EXISTS", "k"), 0)
    answers = client("BF.MADD", "k", *range(20000))
    taken = [i for i, a in enumerate(answers) if not isinstance(a, Error)]
    same(len(answers), 20000)
    same({a for a in answers if isinstance(a, Error)}, {limit})
    assert 3000 < len(taken) < 8000, len(taken)
    same(sum(client("BF.MEXISTS", "k", *taken)), len(taken))
    same(client("BF.ADD", "k", "beyond"), limit)
    same(client("BF.ADD", "k", taken[0]), 0)
    same(int(client.info("bf")["bf_refused_memory_limit"]) - before, 5)
    client("CONFIG", "SET", "bf.bf-memory-limit", "0")
    same(client("BF.ADD", "k", "beyond"), 1)


def ACommandHasAWorkLimit(server):
    client = fresh(server)
    client("BF.MADD", "k", *range(1000))
    client("CONFIG", "SET", "bf.bf-work-limit", "1000")
    refused = Error("ERR command exceeds bf-work-limit")
    same(client("BF.MEXISTS", "k", *range(100)), refused)
    same(client("BF.MADD", "k", *range(100)), refused)
    same(client("BF.INSERT", "new", "ITEMS", *range(1000)), refused)
    same(client("EXISTS", "new"), 0)
    same(client("BF.MEXISTS", "k", *range(10)), [1] * 10)
    client("CONFIG", "SET", "bf.bf-work-limit", "5")
    same([client("BF.EXISTS", "k", "a"), client("BF.ADD", "k", "a")], [refused, refused])
    same(client.info("bf")["bf_refused_work_limit"], "5")
    client("CONFIG", "SET", "bf.bf-work-limit", "0")
    same(sum(client("BF.MEXISTS", "k", *range(1000))), 1000)
    client("CONFIG", "SET", "bf.bf-work-limit", "1000000000")


if __name__ == "__main__":
    with Server() as started:
        if not can_defragment(started):
            del DefragmentingKeepsEveryFilter
        if b"bloom" not in started.client()("ACL", "CAT"):  # before Redis 7.4 and Valkey 8 modules have no categories
            del CategoriesHaveTheirCommands
        sys.exit(run_tests("values", globals(), started) != 0)
