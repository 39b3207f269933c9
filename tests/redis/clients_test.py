"""Clients that know RedisBloom, as Debian has them: python3-redis, node-redis and redis-cli."""

import pathlib
import re
import signal
import subprocess
import sys

import redis

from support import GOLDEN, ROOT, Server, node_redis, run_tests, same


def PythonClientsBfWorks(server):
    with redis.Redis(port=server.port) as client:
        client.flushall()
        bf = client.bf()
        same(bf.create("k", 0.01, 1000, expansion=4), True)
        same(bf.add("k", "a"), 1)
        same(bf.madd("k", "a", "b"), [0, 1])
        same(bf.insert("m", ["x", "y"], capacity=50, error=0.001, noScale=True), [1, 1])
        same(bf.exists("k", "a"), 1)
        same(bf.mexists("k", "a", "z"), [1, 0])
        info = bf.info("k")
        same([info.capacity, info.insertedNum, info.filterNum, info.expansionRate], [1000, 2, 1, 4])
        iterator, header = bf.scandump("k", 0)
        chunks = []
        while iterator:
            chunks.append((iterator, header))
            iterator, header = bf.scandump("k", iterator)
        for iterator, data in chunks:
            same(bf.loadchunk("copy", iterator, data), b"OK")
        same(client.dump("copy"), client.dump("k"))
        same(client.type("copy"), b"MBbloom--")
        try:
            bf.create("k", 0.01, 10)
            raise AssertionError("created twice")
        except redis.ResponseError as why:
            same(str(why), "item exists")


def PythonClientsCfWorks(server):
    with redis.Redis(port=server.port) as client:
        client.flushall()
        cf = client.cf()
        same(cf.create("k", 1000, expansion=4, bucket_size=4, max_iterations=10), True)
        same([cf.add("k", "a"), cf.addnx("k", "a"), cf.addnx("k", "b")], [1, 0, 1])
        same(cf.insert("m", ["x", "y", "x"], capacity=50), [1, 1, 1])
        same(cf.insertnx("m", ["x", "z"], nocreate=True), [0, 1])
        same([cf.exists("k", "a"), cf.mexists("k", "a", "z"), cf.count("m", "x"), cf.delete("m", "x"), cf.count("m", "x")], [1, [1, 0], 2, 1, 1])
        info = cf.info("k")
        same([info.size, info.bucketNum, info.filterNum, info.insertedNum, info.deletedNum, info.bucketSize, info.expansionRate, info.maxIteration],
             [1080, 256, 1, 2, 0, 4, 4, 10])
        chunks = []
        iterator, data = cf.scandump("k", 0)
        while iterator:
            chunks.append((iterator, data))
            iterator, data = cf.scandump("k", iterator)
        for iterator, data in chunks:
            same(cf.loadchunk("copy", iterator, data), b"OK")
        same(client.dump("copy"), client.dump("k"))
        same(client.type("copy"), b"MBbloomCF")
        try:
            cf.create("k", 10)
            raise AssertionError("created twice")
        except redis.ResponseError as why:
            same(str(why), "item exists")


def RedisCliPrintsAndRestores(server):
    def cli(*words, data=None, options=()):
        command = ["redis-cli", "-p", str(server.port), *options, *words]
        return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, timeout=20).stdout

    cli("FLUSHALL")
    same(cli("BF.MADD", "k", "a", "b", "a"), b"1\n1\n0\n")
    same(cli("BF.EXISTS", "k", "a", options=["-3"]), b"(true)\n")
    dump = (GOLDEN / "bf_100_0.01.rdbdump.bin").read_bytes()
    same(cli("RESTORE", "r", "0", data=dump, options=["-x"]), b"OK\n")
    same(cli("DUMP", "r", options=["--raw"])[:-11], dump[:-10])  # without the version of RDB, the checksum and a newline
    same(cli("CF.INSERTNX", "c", "ITEMS", "a", "b", "a"), b"1\n1\n0\n")
    same(cli("CF.EXISTS", "c", "a", options=["-3"]), b"(true)\n")
    assert b"Adds an item to a Bloom Filter" in cli("COMMAND", "DOCS", "bf.add")


def RedisCliPrintsTheTypesOfResp3(server):
    def cli(*words):
        command = ["redis-cli", "-3", "--no-raw", "-p", str(server.port), *words]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=20).stdout.decode()

    cli("FLUSHALL")
    same(cli("BF.RESERVE", "k", "0.01", "100", "NONSCALING"), "OK\n")
    same(cli("BF.MADD", "k", "a", "a"), "1) (true)\n2) (false)\n")
    same(cli("BF.MEXISTS", "k", "a", "z"), "1) (true)\n2) (false)\n")
    same(cli("BF.CARD", "k"), "(integer) 1\n")
    same(cli("BF.INFO", "k"), "1# Capacity => (integer) 100\n2# Size => (integer) 216\n3# Number of filters => (integer) 1\n"
                              "4# Number of items inserted => (integer) 1\n5# Expansion rate => (nil)\n")
    same(cli("BF.INFO", "k", "ITEMS"), "1# Number of items inserted => (integer) 1\n")
    same(cli("CF.ADDNX", "c", "a"), "(true)\n")
    same(cli("CF.INSERTNX", "c", "ITEMS", "a", "b"), "1) (integer) 0\n2) (integer) 1\n")
    same(cli("CF.COUNT", "c", "a"), "(integer) 1\n")
    same(cli("CF.DEL", "c", "a"), "(true)\n")
    same(cli("CF.INFO", "c").splitlines()[4], "5# Number of items deleted => (integer) 1")
    same(cli("BF.INFO", "absent"), "(error) ERR not found\n")


def DebiansNodeRedisWorks(server):
    with redis.Redis(port=server.port) as client:
        client.flushall()
    assert node_redis("/usr/share/nodejs", "single", server.port).startswith("@redis/bloom 1.")


def TheCommandStartsAServerAndEndsItOnCtrlC(_):
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it
    process = subprocess.Popen([str(ROOT / "bloomery"), "redis", "--appendonly", "yes"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, preexec_fn=heed)
    try:
        url = process.stdout.readline().decode()
        assert re.fullmatch(r"redis://127\.0\.0\.1:\d+\n", url), url
        with redis.Redis.from_url(url.strip()) as client:
            same(client.bf().madd("seen", "alice", "bob"), [1, 1])
            same(client.config_get("appendonly"), {"appendonly": "yes"})
            folder = pathlib.Path(client.config_get("dir")["dir"])
            server_id = client.info("server")["process_id"]
        process.send_signal(signal.SIGINT)
        same(process.wait(20), 0)
        same([folder.exists(), pathlib.Path("/proc/%d" % server_id).exists()], [False, False])
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    with Server() as started:
        sys.exit(run_tests("clients", globals(), started) != 0)
