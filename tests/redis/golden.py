"""What RedisBloom wrote, and how to write such bytes: DUMP payloads and headers."""

import struct

from support import GOLDEN, Simple, chunks_of, same


def rows_of(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


KEYS = [unhex(row[0]) for row in rows_of(GOLDEN / "keys.tsv")]


def case_of(name, command, keys, iterators):
    """(name, command, number of keys, chunks, DUMP, [(key, answer)])"""
    pieces = [(iterator, (GOLDEN / ("%s.chunk%d_iter%d.bin" % (name, i, iterator))).read_bytes()) for i, iterator in enumerate(iterators)]
    probes = [(unhex(key), int(answer)) for key, answer in rows_of(GOLDEN / (name + ".probes.tsv"))]
    return name, command, keys, pieces, (GOLDEN / (name + ".rdbdump.bin")).read_bytes(), probes


def bloom_cases():
    for name, command, keys, chunks, *_ in rows_of(GOLDEN / "cases.tsv"):
        yield case_of(name, command, int(keys), [int(chunk.split(":")[0]) for chunk in chunks.split(",")])


def cuckoo_cases():
    yield case_of("cf_default_1024", "CF.RESERVE 1024", 200, [1, 1025])
    yield case_of("cf_100_bs2", "CF.RESERVE 100 BUCKETSIZE 2", 80, [1, 129, 257])
    yield case_of("cf_16_bs4_exp2_grown", "CF.RESERVE 16 BUCKETSIZE 4 EXPANSION 2 MAXITERATIONS 20", 200, [1, 17, 49, 113, 241])


def expect_golden(client, family, key, pieces, dump, probes):
    """family: BF or CF."""
    same([data for _, data in chunks_of(client, key, family)], [data for _, data in pieces])
    written = client("DUMP", key)  # ends with the version of RDB, which a newer server counts on, and a checksum
    same(written[:-10], dump[:-10])
    same(written == dump, written[-10:-8] == dump[-10:-8])
    same(client(family + ".MEXISTS", key, *[k for k, _ in probes]), [answer for _, answer in probes])


def made_by_its_commands(client, family, cases):
    for name, command, count, pieces, dump, probes in cases:
        if command.startswith(family + ".RESERVE"):
            words = command.split()
            same(client(words[0], name, *words[1:]), Simple("OK"))
        for key in KEYS[:count]:
            client(family + ".ADD", name, key)
        expect_golden(client, family, name, pieces, dump, probes)


def restored(client, family, cases):
    for name, _, _, pieces, dump, probes in cases:
        same(client("RESTORE", name, 0, dump), Simple("OK"))
        expect_golden(client, family, name, pieces, dump, probes)


def loaded_by_chunks(client, family, cases):
    for name, _, _, pieces, dump, probes in cases:
        for iterator, data in pieces:
            same(client(family + ".LOADCHUNK", name, iterator, data), Simple("OK"))
        expect_golden(client, family, name, pieces, dump, probes)


# ---- payloads of DUMP ----

BLOOM, CUCKOO = 0x3016E5A289BEF800, 0x3016E5A289821400  # of the types, without the encoding


def crc64_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
        table.append(crc)
    return table


CRC64 = crc64_table()


def with_checksum(body):
    """A DUMP of what stands before its checksum."""
    crc = 0
    for byte in body:
        crc = CRC64[crc & 0xFF ^ byte] ^ crc >> 8
    return body + struct.pack("<Q", crc)


def dump_of(encoding, fields, module_type=BLOOM):
    """A DUMP of a type in this encoding. The fields are numbers, doubles and strings."""

    def length(n):
        return bytes([n]) if n < 64 else b"\x81" + struct.pack(">Q", n)

    out = b"\x07\x81" + struct.pack(">Q", module_type | encoding)
    for field in fields:
        if isinstance(field, float):
            out += b"\x04" + struct.pack("<d", field)
        elif isinstance(field, bytes):
            out += b"\x05" + length(len(field)) + field
        else:
            out += b"\x02" + length(field)
    return with_checksum(out + b"\x00" + struct.pack("<H", 10))


def rdb_file_of(cases, version=10):
    """What a server with RedisBloom wrote by SAVE: a record is the type, the key, and what DUMP has of the value."""
    out = b"REDIS%04d\xfe\x00" % version
    for name, _, _, _, dump, _ in cases:
        out += dump[:1] + bytes([len(name)]) + name.encode() + dump[1:-10]
    return with_checksum(out + b"\xff")


def fields_of(dump):
    """(type without encoding, fields) of a DUMP whose strings are not compressed."""
    module_type = struct.unpack(">Q", dump[2:10])[0]
    at, fields = 10, []

    def length():
        nonlocal at
        first = dump[at]
        at += 1
        if first < 64:
            return first
        if first < 128:
            at += 1
            return (first & 63) << 8 | dump[at - 1]
        size, layout = (8, ">Q") if first == 0x81 else (4, ">I")
        assert first in (0x80, 0x81), first
        at += size
        return struct.unpack(layout, dump[at - size:at])[0]

    while dump[at] != 0:
        code = dump[at]
        at += 1
        if code == 4:
            fields.append(struct.unpack("<d", dump[at:at + 8])[0])
            at += 8
        elif code == 5:
            size = length()
            fields.append(dump[at:at + size])
            at += size
        else:
            fields.append(length())
    same(at, len(dump) - 11)
    return module_type >> 10 << 10, fields


# ---- headers of SCANDUMP ----


def bloom_header(size_bytes=144, bits=None, keys=0, error=0.005, per_key=11.027755218, hashes=8, capacity=100, n2=0, options=5, links=1,
                 growth=2, records=None):
    one = struct.pack("<QQQddIQB", size_bytes, size_bytes * 8 if bits is None else bits, keys, error, per_key, hashes, capacity, n2)
    head = struct.pack("<QIII", keys * links % (1 << 64), links % (1 << 32), options, growth)
    return head + one * (links if records is None else records)


def cuckoo_header(keys=0, buckets=64, removed=0, filters=1, slots=2, moves=20, growth=1):
    return struct.pack("<QQQQHHH", keys, buckets, removed, filters, slots, moves, growth)
