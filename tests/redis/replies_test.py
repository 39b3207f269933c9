"""Replies of BF.* in RESP2 and RESP3: types, texts, sizes."""

import math
import random
import sys

from support import Error, Pairs, Server, Simple, answers_of, chunks_of, run_tests, same

WRONGTYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_FOUND = Error("ERR not found")


def arity(name):
    return Error("ERR wrong number of arguments for '%s' command" % name)


def fresh(server, protocol=2):
    client = server.client(protocol)
    same(client("FLUSHALL", "SYNC"), Simple("OK"))
    client("SET", "text", "x")
    return client


def AddAndExistsAnswerNumbersInResp2(server):
    answers_of(fresh(server), [
        ("BF.ADD k a", 1),
        ("BF.ADD k a", 0),
        ("bf.add k b", 1),
        ("BF.MADD k a b c c", [0, 0, 1, 0]),
        ("BF.EXISTS k a", 1),
        ("BF.EXISTS k z", 0),
        ("BF.MEXISTS k a z c", [1, 0, 1]),
        ("BF.CARD k", 3),
        ("BF.INSERT k ITEMS a d", [0, 1]),
        (("BF.ADD", "k", b""), 1),
        (("BF.MEXISTS", "k", b"", b"\0\xff"), [1, 0]),
    ])


def AddAndExistsAnswerBooleansInResp3(server):
    answers_of(fresh(server, 3), [
        ("BF.ADD k a", True),
        ("BF.ADD k a", False),
        ("BF.MADD k a b", [False, True]),
        ("BF.EXISTS k a", True),
        ("BF.MEXISTS k a z", [True, False]),
        ("BF.INSERT k ITEMS a c", [False, True]),
        ("BF.CARD k", 3),
        ("BF.EXISTS none a", False),
        ("BF.MEXISTS text a b", [False, False]),
    ])


def AMissingKeyHoldsNothing(server):
    answers_of(fresh(server), [
        ("BF.EXISTS none a", 0),
        ("BF.MEXISTS none a b", [0, 0]),
        ("BF.CARD none", 0),
        ("BF.INFO none", NOT_FOUND),
        ("BF.INFO none SIZE", NOT_FOUND),
        ("BF.DEBUG none", NOT_FOUND),
        ("BF.SCANDUMP none 0", NOT_FOUND),
        ("BF.SCANDUMP none x", NOT_FOUND),
        ("BF.LOADCHUNK none 2 x", NOT_FOUND),
        ("BF.INSERT none NOCREATE ITEMS a", NOT_FOUND),
        ("EXISTS none", 0),
    ])


def AKeyOfAnotherTypeIsAnErrorButForExists(server):
    answers_of(fresh(server), [
        ("BF.EXISTS text a", 0),
        ("BF.MEXISTS text a b", [0, 0]),
        ("BF.CARD text", WRONGTYPE),
        ("BF.ADD text a", WRONGTYPE),
        ("BF.MADD text a", WRONGTYPE),
        ("BF.INSERT text ITEMS a", WRONGTYPE),
        ("BF.RESERVE text 0.01 100", WRONGTYPE),
        ("BF.INFO text", WRONGTYPE),
        ("BF.DEBUG text", WRONGTYPE),
        ("BF.SCANDUMP text 0", WRONGTYPE),
        ("BF.LOADCHUNK text 1 x", WRONGTYPE),
        ("GET text", b"x"),
        ("BF.ADD k a", 1),
        ("GET k", WRONGTYPE),
        ("TYPE k", Simple("MBbloom--")),
    ])


def ReserveChecksInRedisBloomsOrder(server):
    rate = Error("ERR error rate must be in the range (0.000000, 1.000000)")
    capacity = Error("ERR capacity must be in the range [1, 1073741824]")
    expansion = Error("ERR expansion must be in the range [0, 32768]")
    answers_of(fresh(server), [
        ("BF.RESERVE k", arity("bf.reserve")),
        ("BF.RESERVE k 0.01", arity("bf.reserve")),
        ("BF.RESERVE k 0.01 100 a b c d", arity("bf.reserve")),
        ("BF.RESERVE k x y", Error("ERR bad error rate")),
        ("BF.RESERVE k nan 100", Error("ERR bad error rate")),
        ("BF.RESERVE k 0 y", rate),
        ("BF.RESERVE k 1 100", rate),
        ("BF.RESERVE k -0.1 100", rate),
        ("BF.RESERVE k 0.01 y", Error("ERR bad capacity")),
        ("BF.RESERVE k 0.01 1.5", Error("ERR bad capacity")),
        ("BF.RESERVE k 0.01 0", capacity),
        ("BF.RESERVE k 0.01 -1", capacity),
        ("BF.RESERVE k 0.01 1073741825", capacity),
        ("BF.RESERVE k 0.01 100 EXPANSION", Error("ERR no expansion")),
        ("BF.RESERVE k 0.01 100 EXPANSION x", Error("ERR bad expansion")),
        ("BF.RESERVE k 0.01 100 EXPANSION -1", expansion),
        ("BF.RESERVE k 0.01 100 EXPANSION 32769", expansion),
        ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2", Error("Nonscaling filters cannot expand")),
        ("BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING", Error("Nonscaling filters cannot expand")),
        ("EXISTS k", 0),
        ("BF.RESERVE a 0.01 100 BOGUS", Simple("OK")),
        ("BF.RESERVE b 0.01 100 nonscaling expansion 0", Simple("OK")),
        ("BF.RESERVE c 0.01 100 EXPANSION 32768", Simple("OK")),
        ("BF.RESERVE expansion 0.01 100", Simple("OK")),
        ("BF.RESERVE a 0.01 100", Error("ERR item exists")),
        ("BF.RESERVE a x 100", Error("ERR bad error rate")),
        ("BF.INFO b EXPANSION", [None]),
        ("BF.INFO c EXPANSION", [32768]),
    ])


def AnErrorRateAboveAQuarterIsAQuarter(server):
    client = fresh(server)
    answers_of(client, [
        ("BF.RESERVE a 0.9 1000 NONSCALING", Simple("OK")),
        ("BF.RESERVE b 0.25 1000 NONSCALING", Simple("OK")),
        ("BF.INSERT c ERROR 0.5 CAPACITY 1000 NONSCALING ITEMS x", [1]),
    ])
    same(client("BF.DEBUG", "a"), client("BF.DEBUG", "b"))
    same(client("BF.DEBUG", "c")[1].split(b" ratio:")[1], b"0.25")


def InsertKnowsItsOptionsByFirstLetters(server):
    unknown = Error("Unknown argument received")
    answers_of(fresh(server), [
        ("BF.INSERT k ITEMS", arity("bf.insert")),
        ("BF.INSERT k a ITEMS", unknown),
        ("BF.INSERT k CAPACITY 10 ITEMS", arity("bf.insert")),
        ("BF.INSERT k NOCREATE NONSCALING", arity("bf.insert")),
        ("BF.INSERT k CAPACITY 10 ERROR", arity("bf.insert")),
        ("BF.INSERT k bogus 1 ITEMS a", unknown),
        (("BF.INSERT", "k", "", "ITEMS", "a"), unknown),
        ("BF.INSERT k CAPACITY x ITEMS a", Error("Bad capacity")),
        ("BF.INSERT k CAPACITY 0 ITEMS a", Error("Bad capacity")),
        ("BF.INSERT k CAPACITY 1073741825 ITEMS a", Error("Bad capacity")),
        ("BF.INSERT k ERROR x ITEMS a", Error("Bad error rate")),
        ("BF.INSERT k ERROR 1 ITEMS a", Error("Bad error rate")),
        ("BF.INSERT k EXPANSION x ITEMS a", Error("Bad expansion")),
        ("BF.INSERT k EXPANSION 32769 ITEMS a", Error("Bad expansion")),
        ("EXISTS k", 0),
        ("BF.INSERT k items a items", [1, 1]),
        ("BF.INSERT a C 7 ERR 0.001 EX 3 I x y", [1, 1]),
        ("BF.INFO a CAPACITY", [7]),
        ("BF.INFO a EXPANSION", [3]),
        ("BF.INSERT b NON CAP 5 I x", [1]),
        ("BF.INFO b EXPANSION", [None]),
        ("BF.INSERT c NONSCALING EXPANSION 4 ITEMS x", [1]),
        ("BF.INFO c EXPANSION", [None]),
        ("BF.INSERT d EXPANSION 0 ITEMS x", [1]),
        ("BF.INFO d EXPANSION", [None]),
        ("BF.INSERT d NOC CAPACITY 9 ERROR 0.1 ITEMS y", [1]),
        ("BF.INSERT none NOCREATE CAPACITY 9 ITEMS y", NOT_FOUND),
        ("BF.INFO d CAPACITY", [100]),
    ])


def AFullFilterAnswersUpToTheItemThatItRefuses(server):
    full = Error("ERR non scaling filter is full")
    answers_of(fresh(server), [
        ("BF.RESERVE k 0.0001 3 NONSCALING", Simple("OK")),
        ("BF.MADD k a b c d e", [1, 1, 1, full]),
        ("BF.ADD k d", full),
        ("BF.ADD k a", 0),
        ("BF.MADD k a b", [0, 0]),
        ("BF.MADD k a z b", [0, full]),
        ("BF.INSERT k ITEMS c q", [0, full]),
        ("BF.CARD k", 3),
        ("BF.EXISTS k d", 0),
        (["BF.INSERT", "m", "CAPACITY", "70", "NONSCALING", "ERROR", "0.00001", "ITEMS"] + ["i%d" % i for i in range(200)],
         [1] * 70 + [full]),
    ])


def InfoHasFiveFields(server):
    two, three = fresh(server), server.client(3)
    same(two("BF.RESERVE", "k", "0.001", "100"), Simple("OK"))
    names = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
    values = [100, 296, 1, 0, 2]
    pairs = [(Simple(n), v) for n, v in zip(names, values)]
    same(two("BF.INFO", "k"), [x for pair in pairs for x in pair])
    same([type(x) for x in two("BF.INFO", "k")], [Simple, int] * 5)
    same(three("BF.INFO", "k"), Pairs(pairs))
    for word, pair in zip(["capacity", "SIZE", "Filters", "ITEMS", "EXPANSION"], pairs):
        same(two("BF.INFO", "k", word), [pair[1]])
        same(three("BF.INFO", "k", word), Pairs([pair]))
    answers_of(two, [
        ("BF.INFO k BOGUS", Error("Invalid information value")),
        ("BF.INFO k SIZE ITEMS", arity("bf.info")),
        ("BF.INFO", arity("bf.info")),
        ("BF.RESERVE n 0.01 100 NONSCALING", Simple("OK")),
    ])
    same(two("BF.INFO", "n")[9], None)
    same(three("BF.INFO", "n")[4], (Simple("Expansion rate"), None))
    same(three("BF.INFO", "n", "EXPANSION"), Pairs([(Simple("Expansion rate"), None)]))


def SizesAreRedisBlooms(server):
    client = fresh(server)
    for command, size in [("BF.RESERVE a 0.001 100", 296), ("BF.ADD b x", 240), ("BF.RESERVE c 0.01 100 NONSCALING", 216),
                          ("BF.RESERVE d 0.01 3 NONSCALING", 104)]:
        client.line(command)
        same(client("BF.INFO", command.split()[1], "SIZE"), [size])
    same(client("BF.RESERVE", "e", "0.01", "10"), Simple("OK"))
    for i in range(31):
        client("BF.ADD", "e", i)
    debug = client("BF.DEBUG", "e")
    same([int(x.split(b"bytes:")[1].split()[0]) for x in debug[1:]], [16, 32, 72])
    same(client("BF.INFO", "e", "SIZE"), [344])


def CollisionsAreRedisBlooms(server):
    client = fresh(server)
    client("BF.RESERVE", "k", "0.01", "10")
    same(sum(client("BF.ADD", "k", i) for i in range(100)), 99)
    debug = client("BF.DEBUG", "k")
    same(debug[0], b"size:99")
    same([int(x.split(b" size:")[1].split()[0]) for x in debug[1:]], [10, 20, 40, 29])
    same(client("BF.CARD", "k"), 99)
    client("BF.RESERVE", "m", "0.001", "100")
    same(sum(client("BF.MADD", "m", *range(4000))), 3997)
    same(sum(client("BF.MEXISTS", "m", *range(4000))), 4000)


def DebugPrintsEverySubFilter(server):
    client = fresh(server)
    client("BF.ADD", "k", "a")
    same(client("BF.DEBUG", "k"), [b"size:1", b"bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005"])


def ScandumpAndLoadchunkMoveAFilter(server):
    bad, numeric = Error("ERR received bad data"), Error("ERR Second argument must be numeric")
    client = fresh(server)
    client("BF.RESERVE", "k", "0.01", "10")
    client("BF.MADD", "k", *range(100))
    chunks = chunks_of(client, "k")
    same([len(data) for _, data in chunks], [20 + 4 * 53, 16, 32, 72, 160])
    same([it for it, _ in chunks], [1, 17, 49, 121, 281])
    answers_of(client, [
        ("BF.SCANDUMP k x", Error("Second argument must be numeric")),
        ("BF.SCANDUMP k 281", [0, b""]),
        ("BF.SCANDUMP k -1", [0, b""]),
        ("BF.SCANDUMP k 1000000", [0, b""]),
        ("BF.SCANDUMP k 18", [49, chunks[2][1][1:]]),
        ("BF.LOADCHUNK c x y", numeric),
        ("BF.LOADCHUNK text x y", numeric),
        (("BF.LOADCHUNK", "c", 1, chunks[0][1][:-1]), bad),
        (("BF.LOADCHUNK", "c", 1, b""), bad),
        (("BF.LOADCHUNK", "c", 1, bytes(73)), bad),
        ("EXISTS c", 0),
    ])
    for iterator, data in chunks:
        same(client("BF.LOADCHUNK", "c", iterator, data), Simple("OK"))
    same(chunks_of(client, "c"), chunks)
    same(client("DUMP", "c"), client("DUMP", "k"))
    answers_of(client, [
        (("BF.LOADCHUNK", "c", 1, chunks[0][1]), bad),
        (("BF.LOADCHUNK", "c", 0, b"x"), bad),
        (("BF.LOADCHUNK", "c", -5, b"x"), bad),
        (("BF.LOADCHUNK", "c", 2, b"xyz"), bad),
        (("BF.LOADCHUNK", "c", 300, b"x"), Error("ERR invalid offset - no link found")),
        (("BF.LOADCHUNK", "c", 1 + 17, b"x" * 17), Error("ERR invalid chunk - Too big for current filter")),
    ])
    same(chunks_of(client, "c"), chunks)


def ALargeFilterLeavesInChunksOfSixteenMebibytes(server):
    client = fresh(server)
    client("BF.RESERVE", "k", "0.01", "15000000", "NONSCALING")
    client("BF.MADD", "k", *range(100))
    chunks = chunks_of(client, "k")
    bits = int(15000000 * (-math.log(0.01) / 0.480453013918201))
    same([len(d) for _, d in chunks], [73, 16 << 20, (bits + 63) // 64 * 8 - (16 << 20)])
    for iterator, data in chunks:
        same(client("BF.LOADCHUNK", "c", iterator, data), Simple("OK"))
    same(client("DEBUG", "DIGEST-VALUE", "c"), client("DEBUG", "DIGEST-VALUE", "k"))
    client("FLUSHALL", "SYNC")


def EveryCommandChecksItsArity(server):
    client = fresh(server)
    for name, few, many in [("bf.add", 2, 4), ("bf.madd", 2, 0), ("bf.exists", 2, 4), ("bf.mexists", 2, 0), ("bf.card", 1, 3),
                            ("bf.debug", 1, 3), ("bf.scandump", 2, 4), ("bf.loadchunk", 3, 5), ("bf.insert", 3, 0),
                            ("bf.info", 1, 4), ("bf.reserve", 3, 8)]:
        for count in (few, many):
            if count:
                same(client(name, *["x"] * (count - 1)), arity(name))


def BatchesAnswerAsOneByOne(server):
    client = fresh(server)
    chance = random.Random(7)
    for size in (1, 63, 64, 65, 200, 3000):
        items = [chance.randrange(2 * size) for _ in range(size)]
        client("DEL", "a", "b")
        client("BF.RESERVE", "a", "0.01", "10")
        client("BF.RESERVE", "b", "0.01", "10")
        for item in items:
            client.send("BF.ADD", "a", item)
        singles = [client.read() for _ in items]
        same(client("BF.MADD", "b", *items), singles)
        same(client("DUMP", "a"), client("DUMP", "b"))
        asked = [chance.randrange(10 * size) for _ in range(size)]
        for item in asked:
            client.send("BF.EXISTS", "a", item)
        singles = [client.read() for _ in asked]
        same(client("BF.MEXISTS", "a", *asked), singles)


def ScriptsAndTransactionsUseThem(server):
    client = fresh(server)
    same(client("EVAL", "return redis.call('BF.MADD', KEYS[1], 'a', 'b', 'a')", 1, "k"), [1, 1, 0])
    same(client("EVAL", "redis.setresp(3); return type(redis.call('BF.EXISTS', KEYS[1], 'a'))", 1, "k"), b"boolean")
    answers_of(client, [("MULTI", Simple("OK")), ("BF.ADD k c", Simple("QUEUED")), ("BF.EXISTS k c", Simple("QUEUED")),
                    ("EXEC", [1, 1])])


if __name__ == "__main__":
    with Server() as started:
        sys.exit(run_tests("replies", globals(), started) != 0)
