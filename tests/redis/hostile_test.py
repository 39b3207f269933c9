"""Payloads that nobody should send, by RESTORE and LOADCHUNK: refused or harmless, and the server answers what comes next.

A fuzzer alters golden and own payloads, with their checksums made right, and works with what was taken. BLOOMERY_FUZZ_CYCLES says how
often (2,000), BLOOMERY_FUZZ_SEED with which random numbers.
"""

import os
import random
import struct
import sys

from golden import BLOOM, CUCKOO, bloom_cases, bloom_header, cuckoo_cases, cuckoo_header, dump_of, fields_of, with_checksum
from support import Error, Server, Simple, chunks_of, run_tests, same

OK = Simple("OK")
BAD_DUMP = Error("ERR Bad data format")
BAD_HEADER = {"BF": Error("ERR received bad data"), "CF": Error("Couldn't create filter!")}
LIMIT = Error("ERR operation exceeds bloom object memory limit")
NAN, INFINITE = float("nan"), float("inf")
U64 = (1 << 64) - 1


def fresh(server):
    client = server.client()
    same(client("FLUSHALL", "SYNC"), OK)
    return client


def nothing_is_left(client):
    same(client("FLUSHALL", "SYNC"), OK)
    info = client.info("bf")
    same([info["bf_objects"], info["bf_items"], info["bf_memory_bytes"]], ["0", "0", "0"])


def refuses_dumps(client, payloads):
    for name, payload in payloads.items():
        same((name, client("RESTORE", "k", 0, payload)), (name, BAD_DUMP))
        same(client("PING"), Simple("PONG"))
    same(client("EXISTS", "k"), 0)
    nothing_is_left(client)


def altered(fields, changes):
    """name -> the same fields with one or more others"""
    out = {}
    for place, values in changes:
        for value in values:
            copy = list(fields)
            copy[place] = value
            out["%d: %.40r" % (place, value)] = copy
    return out


# ---- Bloom ----


def BloomDumpsThatCannotBeAreRefused(server):
    # keys, sub-filters, options, growth; capacity, FPR, hashes, bits per key, bits, n2, bytes, keys
    good = [3, 1, 5, 2, 100, 0.005, 8, 11.027755218, 1152, 0, bytes(144), 3]
    client = fresh(server)
    same(client("RESTORE", "k", 0, dump_of(4, good)), OK)
    client("DEL", "k")
    wrong = altered(good, [
        (0, [0, 2, U64]), (1, [0, 2, 1101, 5000, U64]), (2, [16, 1 << 31, U64]), (4, [100000, 1 << 63, U64]),
        (5, [NAN, INFINITE, -INFINITE, 0.0, -0.5, 1.0, 2.0]), (6, [0, 7, 9, 4000000000, U64]), (7, [NAN, INFINITE, 0.0, -1.0, 1e300]),
        (8, [0, 1, 1151, 1160, U64]), (9, [11, 63, 64, 255, U64]), (10, [b"", bytes(143), bytes(145)]), (11, [0, 2, 4, U64]),
        (1, [5, NAN, b"x"]), (10, [5, 0.5]), (5, [5, b"x"])])
    wrong["billions of hashes that agree"] = good[:6] + [4000000000, 4e9 / 0.693147180559945] + good[8:]
    wrong["counts that overflow"] = [1] + [2] + good[2:11] + [1 << 63] + good[4:11] + [(1 << 63) + 1]
    wrong["a field that is missing"] = good[:-1]
    payloads = {name: dump_of(4, fields) for name, fields in wrong.items()}
    payloads["a field too many"] = dump_of(4, good + [1])
    payloads["a thousand sub-filters too many"] = dump_of(4, [0, 2200, 5, 1] + (good[4:11] + [0]) * 2200)
    refuses_dumps(client, payloads)


def BloomHeadersThatCannotBeAreRefused(server):
    client = fresh(server)
    for header in [bloom_header(links=5000), bloom_header(links=5000, growth=1), bloom_header(links=1 << 31, records=1), bloom_header(links=2, records=1),
                   bloom_header(keys=1 << 63, links=2), bloom_header(capacity=U64), bloom_header(hashes=4000000000),
                   bloom_header(hashes=4000000000, per_key=4e9 / 0.693147180559945), bloom_header(error=NAN), bloom_header(per_key=NAN),
                   bloom_header(per_key=INFINITE), bloom_header(n2=63), bloom_header(n2=255), bloom_header(size_bytes=1 << 61, bits=1 << 63)]:
        same(client("BF.LOADCHUNK", "k", 1, header), BAD_HEADER["BF"])
    same(client("BF.LOADCHUNK", "k", 1, bloom_header(size_bytes=1 << 40)), LIMIT)
    same(client("EXISTS", "k"), 0)
    nothing_is_left(client)


# ---- cuckoo ----


def CuckooDumpsThatCannotBeAreRefused(server):
    # sub-filters, buckets, keys, removals, slots, moves, growth; of each: buckets, bytes
    layer = bytes(range(64))
    good = [2, 32, 126, 0, 2, 20, 1, 32, layer, 32, layer]
    client = fresh(server)
    same(client("RESTORE", "k", 0, dump_of(4, good, CUCKOO)), OK)
    client("DEL", "k")
    wrong = altered(good, [
        (0, [0, 3, 33, 5000, 65535, 65536, 1 << 32, U64]), (1, [0, 3, 31, 64, 1 << 56, 1 << 57, U64]), (4, [0, 1, 3, 256, 65538, U64]),
        (5, [0, 65536, U64]), (6, [0, 2, 3, 65536, U64]), (7, [0, 3, 31, 33, 64, U64]), (8, [b"", bytes(63), bytes(65), 7, 0.5]),
        (9, [0, 64, U64]), (10, [b"", bytes(63), bytes(128)]), (0, [0.5, b"x"])])
    wrong["a field that is missing"] = good[:-1]
    wrong["a number of buckets that overflows"] = [5, 1 << 20, 0, 0, 2, 20, 32768] + [1 << 20, bytes(64)] * 5
    payloads = {name: dump_of(4, fields, CUCKOO) for name, fields in wrong.items()}
    payloads["a field too many"] = dump_of(4, good + [1], CUCKOO)
    payloads["a chain of thousands"] = dump_of(4, [5000, 1, 0, 1 << 40, 1, 20, 1] + [1, b"\1"] * 5000, CUCKOO)
    for encoding in range(4):
        payloads["encoding %d" % encoding] = dump_of(encoding, [2, 32, 0, layer, layer[:-1]], CUCKOO)
    refuses_dumps(client, payloads)


def TheCountsOfACuckooDumpAreNotBelieved(server):
    client = fresh(server)
    dump = dump_of(4, [2, 32, U64, U64, 2, 20, 1, 32, bytes(range(64)), 32, bytes(64)], CUCKOO)
    same(client("RESTORE", "k", 0, dump), OK)
    same(client("CF.DEBUG", "k").split()[2], b"items:63")
    same(client("CF.INSERT", "k", "ITEMS", *range(20)), [1] * 20)
    same(client("CF.DEL", "k", 1), 1)
    same(client("CF.COMPACT", "k"), OK)
    same(client("CF.DEBUG", "k").split()[2], b"items:82")
    nothing_is_left(client)


def CuckooHeadersThatCannotBeAreRefused(server):
    client = fresh(server)
    for header in [cuckoo_header(**{name: value}) for name, values in [
            ("buckets", [0, 3, 1 << 40, 1 << 57, U64]), ("filters", [0, 33, 5000, 65535, 65536, U64]), ("slots", [0, 256, 65535]), ("moves", [0]),
            ("growth", [3, 32769, 65535])] for value in values] + [
            cuckoo_header(filters=2, growth=0), cuckoo_header(filters=6, growth=32768), cuckoo_header(filters=U64, growth=32768)]:
        same(client("CF.LOADCHUNK", "k", 1, header), BAD_HEADER["CF"])
    same(client("CF.LOADCHUNK", "k", 1, cuckoo_header(buckets=1 << 30)), LIMIT)
    same(client("EXISTS", "k"), 0)
    nothing_is_left(client)


def AChainBeyondTheSettingIsTakenFromAFile(server):
    """Another setting lets it in; a file is loaded whatever the setting is."""
    client = fresh(server)
    dump = dump_of(4, [40, 1, 0, 0, 2, 20, 1] + [1, b"\7\0"] * 40, CUCKOO)
    same(client("RESTORE", "k", 0, dump), BAD_DUMP)
    client("CONFIG", "SET", "bf.cf-max-expansions", "40")
    same(client("RESTORE", "k", 0, dump), OK)
    client("CONFIG", "SET", "bf.cf-max-expansions", "32")
    same(client("DEBUG", "RELOAD"), OK)
    same(client("CF.DEBUG", "k").split()[4], b"filters:40")
    same(client("CF.ADD", "k", "a"), Error("Maximum expansions reached"))
    nothing_is_left(client)


def ARemovalOfAHostileChainReadsABoundedNumberOfSlots(server):
    """Every removal wants to empty the newest sub-filter; each of its slots is offered to all of the older, which are full."""
    client = fresh(server)
    full = random.Random(3).randbytes(255 * 256).replace(b"\0", b"\1")
    dump = dump_of(4, [32, 256, 0, 1 << 60, 255, 65535, 1] + [256, full] * 32, CUCKOO)
    same(client("RESTORE", "k", 0, dump), OK)
    removed = sum(client("CF.DEL", "k", item) for item in range(20))
    assert removed >= 10, removed
    same(client("PING"), Simple("PONG"))
    same(client("CF.COMPACT", "k"), Error("ERR command exceeds bf-work-limit"))
    same(client("CF.INSERT", "k", "ITEMS", *range(1000)), Error("Maximum expansions reached"))
    same(client("PING"), Simple("PONG"))
    nothing_is_left(client)


# ---- every truncation ----


def EveryTruncatedDumpIsRefused(server):
    client = fresh(server)
    client("BF.ADD", "b", "a")
    client("CF.RESERVE", "c", "8")
    client("CF.INSERT", "c", "ITEMS", *range(20))
    for key in "bc":
        body = client("DUMP", key)[:-10]
        sizes = range(11, len(body))
        for size in sizes:
            client.send("RESTORE", "k", 0, with_checksum(body[:size] + b"\x0a\x00"))
            client.send("DEL", "k")
        answers = {size: (client.read(), client.read())[0] for size in sizes}
        # The server reads on into what follows: with two bytes less, the version is the last slot and the end.
        if answers[len(body) - 2] == OK:
            del answers[len(body) - 2]
        same(set(answers.values()), {BAD_DUMP})
    nothing_is_left(client)


# ---- the fuzzer ----

NUMBERS = [0, 1, 2, 3, 4, 7, 8, 63, 64, 65, 255, 256, 1000, 32768, 65535, 65536, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 56, 1 << 57,
           1 << 63, U64]
DOUBLES = [NAN, INFINITE, -INFINITE, 0.0, -1.0, 5e-324, 1e-300, 0.001, 0.5, 0.999999, 1.0, 7.0, 100.0, 1e300]


class Fuzzer:
    def __init__(self, client, seed):
        self.client = client
        self.chance = random.Random(seed)
        self.dumps, self.chunks = [], []
        for number, case in enumerate([*bloom_cases(), *cuckoo_cases()]):
            same(client("RESTORE", "seed%d" % number, 0, case[4]), OK)
            self.learn("seed%d" % number)
        for key, make, fill, *options in [
                ("own1", "BF.RESERVE", "BF.MADD", "0.1", "5", "EXPANSION", "1"), ("own2", "BF.RESERVE", "BF.MADD", "0.01", "40", "NONSCALING"),
                ("own3", "CF.RESERVE", "CF.INSERT", "8", "BUCKETSIZE", "1"), ("own4", "CF.RESERVE", "CF.INSERT", "40", "BUCKETSIZE", "20", "EXPANSION", "0"),
                ("own5", "CF.RESERVE", "CF.INSERT", "8", "EXPANSION", "4", "MAXITERATIONS", "3")]:
            client(make, key, *options)
            client(fill, key, *(["ITEMS"] if fill == "CF.INSERT" else []), *range(60))
            self.learn(key)
        client("FLUSHALL", "SYNC")

    def learn(self, key):
        family = "CF" if self.client("TYPE", key) == "MBbloomCF" else "BF"
        module_type, fields = fields_of(self.client("DUMP", key))
        self.dumps.append((family, module_type, fields))
        self.chunks.append((family, chunks_of(self.client, key, family)))

    def field(self, value):
        chance = self.chance
        if isinstance(value, bytes):
            way = chance.randrange(6)
            if way == 0:
                return value[:chance.randrange(len(value) + 1)]
            if way == 1:
                return value + bytes(chance.randrange(1, 300))
            if way == 2:
                return bytes([chance.randrange(256)]) * len(value)
            if way == 3:
                return value * 2
            return bytes(chance.randrange(256) for _ in value) if way == 4 else self.bytes(value)
        if chance.random() < 0.03:
            return chance.choice([chance.choice(NUMBERS), chance.choice(DOUBLES), b"x" * chance.randrange(70)])  # of another type
        if isinstance(value, float):
            return chance.choice(DOUBLES + [value * 2, value / 2])
        return chance.choice(NUMBERS + [(value + 1) & U64, (value - 1) & U64, value * 2 & U64, value // 2])

    def bytes(self, data):
        data = bytearray(data)
        for _ in range(self.chance.choice([1, 1, 2, 8])):
            if data:
                data[self.chance.randrange(len(data))] = self.chance.choice([0, 1, 255, self.chance.randrange(256)])
        return bytes(data)

    def dump(self):
        chance = self.chance
        family, module_type, fields = chance.choice(self.dumps)
        fields = list(fields)
        way = chance.random()
        if way < 0.75:
            for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
                # Numbers first: the bits are most of the bytes, but few of the decisions.
                place = chance.randrange(min(len(fields), chance.choice([8, 16, 1000])))
                fields[place] = self.field(fields[place])
        elif way < 0.8:
            del fields[chance.randrange(len(fields))]
        elif way < 0.85:
            fields.insert(chance.randrange(len(fields)), chance.choice(fields))
        payload = dump_of(chance.choice([4, 4, 4, 4, 4, 4, 0, 1, 2, 3, 5]), fields, module_type)
        if way >= 0.85:
            body = payload[:-8]
            head = chance.choice([0, 1, 10])  # of the type, too
            body = body[:head] + self.bytes(body[head:-2]) + body[-2:]
            payload = with_checksum(body[:chance.randrange(11, len(body))] if way > 0.97 else body)
        return family, [("RESTORE", "k", 0, payload)]

    def load(self):
        chance = self.chance
        family, chunks = chance.choice(self.chunks)
        commands = []
        for iterator, data in chunks[:chance.choice([1, 2, 100])]:
            if iterator == 1 and chance.random() < 0.7:
                data = self.header(family, data)
            elif chance.random() < 0.3:
                data = self.field(data)
            if chance.random() < 0.15:
                iterator = chance.choice(NUMBERS[:-1] + [-1, -iterator, iterator + 1, iterator - 1, len(data), len(data) + 1])
            commands.append((family + ".LOADCHUNK", "k", iterator if iterator < 1 << 63 else -1, data))
        return family, commands

    def header(self, family, data):
        if self.chance.random() < 0.3:
            return self.bytes(data)
        layout = "<QQQQHHH" if family == "CF" else "<QIII" + "QQQddIQB" * ((len(data) - 20) // 53)
        fields = list(struct.unpack(layout, data))
        place = self.chance.randrange(min(len(fields), self.chance.choice([7, 12, 1000])))
        kind = layout[1:][place]
        value = self.chance.choice(DOUBLES) if kind == "d" else self.field(fields[place])
        if kind != "d":
            value = (value if isinstance(value, int) else 0) & (1 << 8 * struct.calcsize("<" + kind)) - 1
        fields[place] = value
        return struct.pack(layout, *fields)

    def cycle(self):
        """True: something was taken."""
        client, chance = self.client, self.chance
        family, commands = self.dump() if chance.random() < 0.6 else self.load()
        items = ["%d-%d" % (chance.randrange(50), i) for i in range(chance.choice([1, 20, 70]))] + ["same"] * chance.choice([0, 0, 30])
        insert = ("BF.MADD", "k") if family == "BF" else (chance.choice(["CF.INSERT", "CF.INSERTNX"]), "k", "ITEMS")
        before = len(commands)
        commands += [("TYPE", "k"), (*insert, *items), (family + ".MEXISTS", "k", *items)]
        if family == "CF":
            commands += [("CF.DEL", "k", items[0]), ("CF.DEL", "k", items[-1]), ("CF.COUNT", "k", items[0]), ("CF.COMPACT", "k")]
        commands += [(family + ".INFO", "k"), (family + ".DEBUG", "k"), (family + ".SCANDUMP", "k", chance.choice([0, 1, 2, 1000])), ("DUMP", "k"),
                     ("COPY", "k", "copy"), ("BF.ADD", "k", "b"), ("CF.ADD", "k", "c"), ("MEMORY", "USAGE", "k"), ("DEL", "k", "copy"), ("PING",)]
        for command in commands:
            client.send(*command)
        answers = [client.read() for _ in commands]
        same(answers[-1], Simple("PONG"))
        taken = answers[before] in ("MBbloom--", "MBbloomCF")
        stored, found = answers[before + 1:before + 3]
        if taken and isinstance(stored, list) and isinstance(found, list):
            lost = [item for item, s, f in zip(items, stored, found) if s in (0, 1) and f != 1]
            same(lost, [])
        return taken


def AlteredPayloadsNeverHurtTheServer(server):
    cycles = int(os.environ.get("BLOOMERY_FUZZ_CYCLES", 2000))
    seed = int(os.environ.get("BLOOMERY_FUZZ_SEED", 1))
    client = fresh(server)
    fuzzer = Fuzzer(client, seed)
    taken = 0
    for cycle in range(cycles):
        try:
            taken += fuzzer.cycle()
        except Exception:
            print("cycle %d of seed %d" % (cycle, seed))
            raise
    print("%d of %d altered payloads were taken" % (taken, cycles))
    assert cycles // 5 < taken < cycles * 4 // 5, taken
    nothing_is_left(client)


if __name__ == "__main__":
    with Server("--rdbcompression", "no", module_arguments=["bf-memory-limit", 4 << 20]) as started:
        sys.exit(run_tests("hostile", globals(), started) != 0)
