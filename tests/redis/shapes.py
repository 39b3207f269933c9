"""Filters of several shapes, and what tells whether a server has the same ones."""

import hashlib


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
