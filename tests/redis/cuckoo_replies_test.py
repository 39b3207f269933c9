"""CF.*: replies in RESP2 and RESP3, sizes, chunks."""

import random
import sys

from golden import KEYS, cuckoo_header
from support import Error, Pairs, Server, Simple, answers_of, chunks_of, run_tests, same, wait_until

OK = Simple("OK")
WRONGTYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_FOUND = Error("ERR not found")
TOO_MANY = Error("Maximum expansions reached")


def arity(name):
    return Error("ERR wrong number of arguments for '%s' command" % name)


def fresh(server, protocol=2):
    client = server.client(protocol)
    same(client("FLUSHALL", "SYNC"), OK)
    client("SET", "text", "x")
    return client


def info_of(client, key):
    flat = client("CF.INFO", key)
    return dict(zip(flat[::2], flat[1::2]))


def RepliesAreNumbersInResp2(server):
    answers_of(fresh(server), [
        ("CF.ADD k a", 1),
        ("CF.ADD k a", 1),
        ("CF.COUNT k a", 2),
        ("CF.ADDNX k a", 0),
        ("CF.ADDNX k b", 1),
        ("CF.EXISTS k a", 1),
        ("CF.EXISTS k z", 0),
        ("CF.MEXISTS k a z b", [1, 0, 1]),
        ("CF.INSERT k ITEMS a c", [1, 1]),
        ("CF.INSERTNX k ITEMS a d d", [0, 1, 0]),
        ("CF.COUNT k a", 3),
        ("CF.DEL k a", 1),
        ("CF.COUNT k a", 2),
        ("CF.DEL k z", 0),
        ("CF.COMPACT k", OK),
        (("CF.ADD", "k", b""), 1),
        (("CF.MEXISTS", "k", b"", b"\0\xff"), [1, 0]),
        ("TYPE k", Simple("MBbloomCF")),
    ])


def RepliesAreBooleansInResp3ButForCountAndInsertnx(server):
    answers_of(fresh(server, 3), [
        ("CF.ADD k a", True),
        ("CF.ADDNX k a", False),
        ("CF.ADDNX k b", True),
        ("CF.EXISTS k a", True),
        ("CF.MEXISTS k a z", [True, False]),
        ("CF.INSERT k ITEMS a c", [True, True]),
        ("CF.INSERTNX k ITEMS a d", [0, 1]),
        ("CF.COUNT k a", 2),
        ("CF.DEL k a", True),
        ("CF.DEL k z", False),
        ("CF.EXISTS none a", False),
        ("CF.RESERVE f 4 EXPANSION 0", OK),
        ("CF.INSERT f ITEMS x x x x x", [True, True, True, True, False]),
        ("CF.INSERTNX f ITEMS x", [0]),
        ("CF.ADD f x", Error("Filter is full")),
    ])


def AMissingKeyHoldsNothing(server):
    answers_of(fresh(server), [
        ("CF.EXISTS none a", 0),
        ("CF.MEXISTS none a b", [0, 0]),
        ("CF.COUNT none a", 0),
        ("CF.DEL none a", Error("Not found")),
        ("CF.COMPACT none", Error("Cuckoo filter was not found")),
        ("CF.INFO none", NOT_FOUND),
        ("CF.DEBUG none", NOT_FOUND),
        ("CF.SCANDUMP none 0", NOT_FOUND),
        ("CF.SCANDUMP none x", Error("Invalid position")),
        ("CF.LOADCHUNK none 2 x", NOT_FOUND),
        ("CF.INSERT none NOCREATE ITEMS a", NOT_FOUND),
        ("CF.INSERTNX none NOCREATE ITEMS a", NOT_FOUND),
        ("EXISTS none", 0),
    ])


def AKeyOfAnotherTypeIsAnErrorButForQueries(server):
    client = fresh(server)
    client("BF.ADD", "bloom", "a")
    for key in ("text", "bloom"):
        answers_of(client, [
            (["CF.EXISTS", key, "a"], 0),
            (["CF.MEXISTS", key, "a", "b"], [0, 0]),
            (["CF.COUNT", key, "a"], 0),
            (["CF.DEL", key, "a"], Error("Not found")),
            (["CF.COMPACT", key], Error("Cuckoo filter was not found")),
            (["CF.ADD", key, "a"], WRONGTYPE),
            (["CF.ADDNX", key, "a"], WRONGTYPE),
            (["CF.INSERT", key, "ITEMS", "a"], WRONGTYPE),
            (["CF.INSERTNX", key, "ITEMS", "a"], WRONGTYPE),
            (["CF.RESERVE", key, "100"], WRONGTYPE),
            (["CF.INFO", key], WRONGTYPE),
            (["CF.DEBUG", key], WRONGTYPE),
            (["CF.SCANDUMP", key, "0"], WRONGTYPE),
            (["CF.LOADCHUNK", key, "1", cuckoo_header()], WRONGTYPE),
            (["CF.LOADCHUNK", key, "2", "x"], WRONGTYPE),
        ])
    answers_of(client, [("CF.ADD k a", 1), ("GET k", WRONGTYPE), ("BF.ADD k a", WRONGTYPE), ("BF.EXISTS k a", 0)])


def ReserveChecksItsNumbers(server):
    capacity = Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")
    in_range = lambda word, low, high: Error("%s: value must be in the range [%d, %d]" % (word, low, high))
    rows = [
        ("CF.RESERVE k", arity("cf.reserve")),
        ("CF.RESERVE k 100 BUCKETSIZE", arity("cf.reserve")),
        ("CF.RESERVE k x", Error("Bad capacity")),
        ("CF.RESERVE k 3", capacity),
        ("CF.RESERVE k -5", capacity),
        ("CF.RESERVE k 1073741825", capacity),
        ("CF.RESERVE k 19 BUCKETSIZE 10", capacity),
        ("EXISTS k", 0),
        ("CF.RESERVE a 4", OK),
        ("CF.RESERVE b 20 bucketsize 10 BOGUS word", OK),
        ("CF.RESERVE c 100 EXPANSION 0", OK),
        ("CF.RESERVE d 100 EXPANSION 5 MAXITERATIONS 65535 BUCKETSIZE 1", OK),
        ("CF.RESERVE a 4", Error("ERR item exists")),
    ]
    for word, low, high in [("MAXITERATIONS", 1, 65535), ("BUCKETSIZE", 1, 255), ("EXPANSION", 0, 32768)]:
        rows[7:7] = [("CF.RESERVE k 100 %s x" % word, Error("Couldn't parse " + word)),
                     ("CF.RESERVE k 100 %s %d" % (word, low - 1), in_range(word, low, high)),
                     ("CF.RESERVE k 100 %s %d" % (word, high + 1), in_range(word, low, high))]
    client = fresh(server)
    answers_of(client, rows)
    same(client("CF.DEBUG", "a"), b"bktsize:2 buckets:2 items:0 deletes:0 filters:1 max_iterations:20 expansion:1")
    same(client("CF.DEBUG", "b"), b"bktsize:10 buckets:2 items:0 deletes:0 filters:1 max_iterations:20 expansion:1")
    same(client("CF.DEBUG", "c"), b"bktsize:2 buckets:64 items:0 deletes:0 filters:1 max_iterations:20 expansion:0")
    same(client("CF.DEBUG", "d"), b"bktsize:1 buckets:128 items:0 deletes:0 filters:1 max_iterations:65535 expansion:8")


def InsertKnowsItsOptionsByFirstLetters(server):
    unknown = Error("Unknown argument received")
    out_of_range = Error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")
    for name in ("CF.INSERT", "CF.INSERTNX"):
        answers_of(fresh(server), [
            (name + " k ITEMS", arity(name.lower())),
            (name + " k CAPACITY 10 ITEMS", arity(name.lower())),
            (name + " k NOCREATE CAPACITY", arity(name.lower())),
            (name + " k NOCREATE NOCREATE", arity(name.lower())),
            (name + " k EXPANSION 2 ITEMS a", unknown),
            ([name, "k", "", "ITEMS", "a"], unknown),
            (name + " k CAPACITY x ITEMS a", Error("Bad capacity")),
            (name + " k CAPACITY 3 ITEMS a", out_of_range),
            (name + " k CAPACITY 1073741825 ITEMS a", out_of_range),
            ("EXISTS k", 0),
            (name + " k c 64 i a items", [1, 1]),
            ("CF.DEBUG k", b"bktsize:2 buckets:32 items:2 deletes:0 filters:1 max_iterations:20 expansion:1"),
            (name + " k NOC CAP 9 I y", [1]),
            (name + " none NOCREATE CAPACITY 9 ITEMS y", NOT_FOUND),
        ])


def AFullFilterAnswersMinusOneAndGoesOn(server):
    client = fresh(server)
    full = Error("Filter is full")
    answers_of(client, [
        ("CF.RESERVE k 4 EXPANSION 0", OK),
        ("CF.INSERT k ITEMS x x x x x x", [1, 1, 1, 1, -1, -1]),
        ("CF.ADD k x", full),
        ("CF.ADDNX k x", 0),
        ("CF.INSERTNX k ITEMS x x", [0, 0]),
        ("CF.DEL k x", 1),
        ("CF.INSERT k ITEMS x x", [1, -1]),
        ("CF.COUNT k x", 4),
    ])
    same(info_of(client, "k")["Number of items inserted"], 4)
    before = client("DUMP", "k")
    same(client("CF.INSERT", "k", "ITEMS", *["y%d" % i for i in range(200)]), [-1] * 200)
    same(client("DUMP", "k"), before)


def OneCommandAddsNoMoreSubFiltersThanTheSettingAllows(server):
    client = fresh(server)
    same(client("CF.RESERVE", "k", "4", "BUCKETSIZE", "1", "MAXITERATIONS", "1"), OK)
    answers = client("CF.INSERT", "k", "ITEMS", *["equal"] * 500)
    taken = answers.count(1)
    assert 32 <= taken <= 64, taken
    same(answers, [1] * taken + [-1] * (500 - taken))
    same(info_of(client, "k")["Number of filters"], 32)
    answers_of(client, [
        ("CF.ADD k other", TOO_MANY),
        ("CF.ADDNX k equal", TOO_MANY),
        ("CF.INSERT k ITEMS a", TOO_MANY),
        ("CF.INSERTNX k ITEMS a", TOO_MANY),
        ("CF.COUNT k equal", taken),
        ("CF.EXISTS k equal", 1),
        ("CF.DEL k equal", 1),
        ("CONFIG SET bf.cf-max-expansions 33", OK),
        ("CF.ADD k equal", 1),
        ("CONFIG SET bf.cf-max-expansions 32", OK),
    ])


def ItemsThatGrowAFilterEnormouslyAreRefused(server):
    client = fresh(server)
    same(client("CF.RESERVE", "k", "8192", "EXPANSION", "32768"), OK)
    answers = client("CF.INSERT", "k", "ITEMS", *["equal"] * 100)
    assert answers.count(-1) >= 90, answers
    same(client("CF.ADD", "k", "equal"), TOO_MANY)
    same(client("CF.ADD", "k", "other"), 1)


def InfoHasEightFields(server):
    two, three = fresh(server), server.client(3)
    same(two("CF.RESERVE", "k", "1000", "BUCKETSIZE", "4", "EXPANSION", "2", "MAXITERATIONS", "30"), OK)
    two("CF.ADD", "k", "a")
    two("CF.ADD", "k", "b")
    two("CF.DEL", "k", "b")
    names = ["Size", "Number of buckets", "Number of filters", "Number of items inserted", "Number of items deleted", "Bucket size",
             "Expansion rate", "Max iterations"]
    pairs = [(Simple(n), v) for n, v in zip(names, [40 + 16 + 1024, 256, 1, 1, 1, 4, 2, 30])]
    same(two("CF.INFO", "k"), [x for pair in pairs for x in pair])
    same([type(x) for x in two("CF.INFO", "k")], [Simple, int] * 8)
    same(three("CF.INFO", "k"), Pairs(pairs))
    same(two("CF.DEBUG", "k"), b"bktsize:4 buckets:256 items:1 deletes:1 filters:1 max_iterations:30 expansion:2")


def SizesAreRedisBlooms(server):
    client = fresh(server)
    client("CF.RESERVE", "k", "1000")
    same(info_of(client, "k")["Size"], 1080)
    client("CF.RESERVE", "g", "16", "BUCKETSIZE", "4", "EXPANSION", "2")
    for key in KEYS[:200]:
        client("CF.ADD", "g", key)
    same(info_of(client, "g")["Size"], 40 + 4 * 16 + 16 + 32 + 64 + 128)


def ARemovalEmptiesSubFilters(server):
    client = fresh(server)
    client("CF.RESERVE", "k", "64")
    items = list(range(300))
    client("CF.INSERT", "k", "ITEMS", *items)
    filters = info_of(client, "k")["Number of filters"]
    assert filters > 3, filters
    for item in items[:250]:
        same(client("CF.DEL", "k", item), 1)
    info = info_of(client, "k")
    assert info["Number of filters"] < filters, info
    same(info["Number of items inserted"], 50)
    same(sum(client("CF.MEXISTS", "k", *items[250:])), 50)


def CompactDropsEmptySubFilters(server):
    client = fresh(server)
    client("CF.RESERVE", "a", "128")
    client("CF.INSERT", "a", "ITEMS", *range(60))
    # The same slots, in the newest of five sub-filters.
    data = chunks_of(client, "a", "CF")[1][1]
    same(client("CF.LOADCHUNK", "k", 1, cuckoo_header(filters=5, removed=9)), OK)
    same(client("CF.LOADCHUNK", "k", 1 + 5 * 128, data), OK)
    same(client("CF.DEBUG", "k"), b"bktsize:2 buckets:64 items:60 deletes:9 filters:5 max_iterations:20 expansion:1")
    same(client("CF.COMPACT", "k"), OK)
    same(client("CF.DEBUG", "k"), b"bktsize:2 buckets:64 items:60 deletes:0 filters:1 max_iterations:20 expansion:1")
    same(sum(client("CF.MEXISTS", "k", *range(60))), 60)


def ScandumpAndLoadchunkMoveAFilter(server):
    client = fresh(server)
    position, chunk = Error("Invalid position"), Error("Couldn't load chunk!")
    client("CF.RESERVE", "k", "16", "BUCKETSIZE", "4", "EXPANSION", "2")
    same(client("CF.SCANDUMP", "k", 0), [0, None])  # it has no items
    for item in range(200):
        client("CF.ADD", "k", item)
    chunks = chunks_of(client, "k", "CF")
    same([(it, len(data)) for it, data in chunks], [(1, 38), (17, 16), (49, 32), (113, 64), (241, 128)])
    answers_of(client, [
        ("CF.SCANDUMP k x", position),
        ("CF.SCANDUMP k -1", position),
        ("CF.SCANDUMP k 241", [0, None]),
        ("CF.SCANDUMP k 1000000", [0, None]),
        ("CF.SCANDUMP k 18", [49, chunks[2][1][1:]]),
        ("CF.LOADCHUNK c x y", position),
        ("CF.LOADCHUNK c 0 y", position),
        ("CF.LOADCHUNK text 0 y", position),
        (["CF.LOADCHUNK", "c", 1, chunks[0][1][:-1]], Error("Invalid header")),
        (["CF.LOADCHUNK", "c", 1, b""], Error("Invalid header")),
        (["CF.LOADCHUNK", "c", 1, bytes(38)], Error("Couldn't create filter!")),
        ("EXISTS c", 0),
    ])
    same(server.client(3)("CF.SCANDUMP", "k", 241), [0, None])
    for iterator, data in chunks:
        same(client("CF.LOADCHUNK", "c", iterator, data), OK)
    same(chunks_of(client, "c", "CF"), chunks)
    same(client("DUMP", "c"), client("DUMP", "k"))
    answers_of(client, [
        (["CF.LOADCHUNK", "c", 1, chunks[0][1]], Error("ERR item exists")),
        (["CF.LOADCHUNK", "c", -5, b"x"], chunk),
        (["CF.LOADCHUNK", "c", 2, b"xyz"], chunk),
        (["CF.LOADCHUNK", "c", 300, b"x"], chunk),
        (["CF.LOADCHUNK", "c", 1 + 17, b"x" * 17], chunk),
    ])
    same(chunks_of(client, "c", "CF"), chunks)


def ALargeFilterLeavesInChunksOfSixteenMebibytes(server):
    client = fresh(server)
    client("CF.RESERVE", "k", "20000000")
    client("CF.INSERT", "k", "ITEMS", *range(1000))
    chunks = chunks_of(client, "k", "CF")
    same([len(d) for _, d in chunks], [38, 16 << 20, 16 << 20])
    for iterator, data in chunks:
        same(client("CF.LOADCHUNK", "c", iterator, data), OK)
    same(client("DEBUG", "DIGEST-VALUE", "c"), client("DEBUG", "DIGEST-VALUE", "k"))
    freed = lambda: int(client.info("memory")["lazyfreed_objects"])
    wait_until(lambda: client.info("memory")["lazyfree_pending_objects"] == "0")
    before = freed()
    same(client("UNLINK", "k", "c"), 2)
    wait_until(lambda: freed() > before and client.info("bf")["bf_memory_bytes"] == "0")


def EveryCommandChecksItsArity(server):
    client = fresh(server)
    for name, few, many in [("cf.add", 2, 4), ("cf.addnx", 2, 4), ("cf.exists", 2, 4), ("cf.mexists", 2, 0), ("cf.count", 2, 4),
                            ("cf.del", 2, 4), ("cf.compact", 1, 3), ("cf.info", 1, 3), ("cf.debug", 1, 3), ("cf.scandump", 2, 4),
                            ("cf.loadchunk", 3, 5), ("cf.insert", 3, 0), ("cf.insertnx", 3, 0), ("cf.reserve", 2, 4)]:
        for count in (few, many):
            if count:
                same(client(name, *["x"] * (count - 1)), arity(name))


def BatchesAnswerAsOneByOne(server):
    client = fresh(server)
    chance = random.Random(11)
    for size in (1, 63, 64, 65, 200, 2000):
        for single, batch in (("CF.ADD", "CF.INSERT"), ("CF.ADDNX", "CF.INSERTNX")):
            items = [chance.randrange(2 * size) for _ in range(size)]
            client("DEL", "a", "b")
            client("CF.RESERVE", "a", "200")
            client("CF.RESERVE", "b", "200")
            for item in items:
                client.send(single, "a", item)
            singles = [client.read() for _ in items]
            same(client(batch, "b", "ITEMS", *items), singles)
            same(client("DUMP", "a"), client("DUMP", "b"))
            looked_up = [chance.randrange(10 * size) for _ in range(size)]
            for item in looked_up:
                client.send("CF.EXISTS", "a", item)
            singles = [client.read() for _ in looked_up]
            same(client("CF.MEXISTS", "a", *looked_up), singles)


if __name__ == "__main__":
    with Server() as started:
        sys.exit(run_tests("cuckoo_replies", globals(), started) != 0)
