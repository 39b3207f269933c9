"""Replicas hold what their master holds: whatever their settings are, after a full and a partial synchronisation, and when it is gone."""

import sys

from shapes import digests, fill
from support import Error, Server, Simple, bulk, chunks_of, run_tests, same, wait_until


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
            client("CF.INSERTNX", "c", "ITEMS", *range(first, first + 100))
            client("CF.DEL", "c", first)
            assert client("WAIT", 1, 10000) >= 1
        master.kill()
        same(other("REPLICAOF", "NO", "ONE"), Simple("OK"))
        same(other("BF.MEXISTS", "k", *range(1000)), [1] * 1000)
        same(sum(other("CF.MEXISTS", "c", *[i for i in range(1000) if i % 100])), 990)
        same([other("BF.ADD", "k", "and on"), other("CF.ADD", "c", "and on")], [1, 1])


def AReplicaThatAnswersWhileItLoadsKeepsWhatItHad():
    """With repl-diskless-load swapdb it loads beside its data, in the background of other commands, and changes over at the end."""
    fast = ("--repl-diskless-sync-delay", "0", "--repl-backlog-size", "16kb")
    beside = ("--repl-diskless-load", "swapdb", "--loading-process-events-interval-bytes", "1024")
    with Server(*fast, "--rdb-key-save-delay", "2000") as master, Server(*fast, *beside) as replica:
        client, other = master.client(), follow(master, replica)
        fill(client)
        for i in range(300):
            client("BF.ADD", "more %d" % i, i)
        in_step(master, replica)
        # What is missed does not fit into the backlog: the next synchronisation is a full one, of the same data set.
        client("MULTI")
        client("CLIENT", "KILL", "TYPE", "replica")
        for i in range(20):
            client("SET", "large", "x" * 100000)
        for i in range(300, 310):
            client("CF.ADD", "more %d" % i, i)
        client("DEL", "large")
        client("EXEC")
        commands = [("INFO", "persistence"), ("BF.EXISTS", "more 7", 7), ("BF.EXISTS", "more 7", "absent"), ("EXISTS", "more 305"),
                    ("INFO", "persistence")]

        def answers_while_it_loads():
            other.socket.sendall(b"".join(bulk(*command) for command in commands))
            before, *seen, after = [other.read() for _ in commands]
            if not all(b"async_loading:1" in info for info in (before, after)):
                return False
            same(seen, [1, 0, 0])
            return True

        wait_until(answers_while_it_loads)
        wait_until(lambda: other.info("persistence")["async_loading"] == "0")
        in_step(master, replica)
        same(digests(other), digests(client))
        wait_until(lambda: other.info("bf")["bf_objects"] == client.info("bf")["bf_objects"])
        same([other.info("bf")[n] for n in ("bf_items", "bf_cuckoo_items")], [client.info("bf")[n] for n in ("bf_items", "bf_cuckoo_items")])


if __name__ == "__main__":
    sys.exit(run_tests("replication", globals()) != 0)
