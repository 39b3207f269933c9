"""A cluster of three masters: its clients, and a service that knows TairBloom, while a slot moves and a master fails."""

import contextlib
import logging
import os
import sys
import threading

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisClusterException

from cluster import Cluster
from support import ROOT, node_redis, run_tests, same

sys.path.insert(0, str(ROOT / "examples/tair-service"))
from bloom_service import BloomService  # noqa: E402

LONG = os.environ.get("BLOOMERY_NIGHTLY") == "yes"
DOUBLE = "1.0E-4"  # Java's Double.toString(0.0001)


def connect(cluster):
    return RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", node.port) for node in cluster.nodes])


@contextlib.contextmanager
def service_of(cluster):
    service = BloomService(lambda: connect(cluster))
    try:
        yield service
    finally:
        service.close()


def flush(cluster):
    for master in cluster.masters:
        master("FLUSHALL")


def PythonsRedisClusterKnowsBf(cluster):
    flush(cluster)
    with connect(cluster) as client:
        keys = ["k%d" % i for i in range(30)]
        for key in keys:
            same(client.bf().create(key, 0.001, 100), True)
            same(client.bf().madd(key, "a", "b", "a"), [1, 1, 0])
        for key in keys:
            same(client.bf().mexists(key, "a", "b", "c"), [1, 1, 0])
            same(client.bf().info(key).insertedNum, 2)
        same(client.cf().insert("c", ["a", "a"]), [1, 1])
        same(client.cf().count("c", "a"), 2)
    # Every master had some of the keys.
    same(min(master("DBSIZE") for master in cluster.masters) > 0, True)


def NodeRedisKnowsTheCluster(cluster):
    flush(cluster)
    assert node_redis("/usr/share/nodejs", "cluster", cluster.masters[0].port).startswith("@redis/bloom 1.")


# ---- the service ----


def TheServiceAnswersAsTairBloomsDoes(cluster):
    flush(cluster)
    with service_of(cluster) as service:
        for key in ["seen", "{other}seen", "third"]:
            same([service.has(key), service.add(key, "a"), service.exists(key, "a"), service.delete(key)], [False] * 4)
            same(service.has(key), False)  # adding to a filter that is not there makes none
            same([service.create(key, DOUBLE, 1000), service.create(key, DOUBLE, 1000), service.has(key)], [True, False, True])
            same([service.exists(key, "a"), service.add(key, "a"), service.add(key, "a"), service.exists(key, "a")],
                 [False, True, False, True])
            same([service.delete(key), service.delete(key), service.exists(key, "a"), service.add(key, "a")], [True] + [False] * 3)
            same(service.create(key, DOUBLE, 1000), True)
            same(service.client().bf().info(key).capacity, 1000)


def JavasDoublesAreErrorRates(cluster):
    flush(cluster)
    with service_of(cluster) as service:
        for i, (text, ratio) in enumerate([("1.0E-4", "5e-05"), ("9.999E-4", "0.00049995"), ("0.001", "0.0005"), ("1.0E-10", "5e-11"),
                                           ("0.2", "0.1"), (0.01, "0.005")]):
            key = "k%d" % i
            same(service.create(key, text, 100), True)
            same(service.client().execute_command("BF.DEBUG", key)[1].decode().split("ratio:")[1], ratio)


def WhatGoesWrongIsFalse(cluster):
    flush(cluster)
    with service_of(cluster) as service:
        service.client().set("text", "no filter")
        same([service.create("text", DOUBLE, 10), service.add("text", "a"), service.exists("text", "a")], [False] * 3)
        for rate, capacity in [("0", 10), ("1", 10), ("-1.0E-4", 10), ("NaN", 10), ("Infinity", 10), ("", 10), (DOUBLE, 0), (DOUBLE, -1),
                               (DOUBLE, "many"), (DOUBLE, 1 << 62)]:
            same([service.create("bad", rate, capacity), service.has("bad")], [False, False])
    for nobody in [lambda: redis.Redis(port=1), lambda: RedisCluster("127.0.0.1", 1)]:
        service = BloomService(nobody)
        same([service.create("k", DOUBLE, 10), service.add("k", "a"), service.exists("k", "a"), service.has("k"), service.delete("k")],
             [False] * 5)


def AFilterGrowsBeyondItsCapacityAndKeepsItsFpr(cluster):
    flush(cluster)
    with service_of(cluster) as service:
        capacity, items, absent = (2000, 100000, 100000) if LONG else (100, 2500, 5000)
        same(service.create("grows", "0.01", capacity), True)
        new = sum(service.add("grows", "item:%d" % i) for i in range(items))
        assert items * 0.99 - 50 <= new <= items, new
        same(sum(service.exists("grows", "item:%d" % i) for i in range(0, items, 5)), items // 5)
        assert service.client().bf().info("grows").filterNum > 4
        wrong = sum(service.exists("grows", "absent:%d" % i) for i in range(absent))
        assert wrong <= absent * 0.01 + 4 * (absent * 0.01) ** 0.5, wrong


# ---- while nodes change ----


class Writer(threading.Thread):
    """Adds items to filters, in turns, and keeps those that a replica has confirmed (or, without replicas, the master)."""

    def __init__(self, cluster, keys, replicas):
        super().__init__(daemon=True)
        self.service, self.keys, self.replicas = BloomService(lambda: connect(cluster)), keys, replicas
        self.confirmed, self.refused = [], 0
        self.ends = threading.Event()
        self.why = None

    def run(self):
        try:
            self.work()
        except Exception as why:  # it is the test's failure
            self.why = why

    def work(self):
        number = 0
        while not self.ends.is_set():
            key, item = self.keys[number % len(self.keys)], "item:%d" % number
            number += 1
            if self.service.add(key, item) and self.is_confirmed(key):
                self.confirmed.append((key, item))
            else:
                self.refused += 1  # known by chance, or an error: nothing was promised

    def is_confirmed(self, key):
        """WAIT on the connection that the item went over: one thread has one connection to a node."""
        if self.replicas == 0:
            return True
        try:
            client = self.service.client()
            return client.execute_command("WAIT", 1, 2000, target_nodes=client.get_node_from_key(key)) >= 1
        except (redis.RedisError, RedisClusterException):
            return False

    def more(self, count):
        """Returns when so many more items were confirmed."""
        aim = len(self.confirmed) + count
        for _ in range(6000):
            if len(self.confirmed) >= aim or not self.is_alive():
                break
            self.ends.wait(0.01)
        if self.why:
            raise self.why
        assert len(self.confirmed) >= aim, (len(self.confirmed), self.refused)

    def end(self):
        self.ends.set()
        self.join(60)
        self.service.close()
        if self.why:
            raise self.why


def keys_in(cluster, index, count, tags):
    """So many names of filters that this master has, in slots of their own."""
    names = []
    for i in range(1000):
        name = "{%s%d}" % (tags, i)
        if len(names) < count and cluster.owner(name)[0] is cluster.masters[index]:
            names += [name]
    return names


def expect_all(cluster, writer):
    """Asked with a new client, which learns the cluster as it is now."""
    with service_of(cluster) as service:
        lost = [one for one in writer.confirmed if not service.exists(*one)]
    same(lost, [])


def SlotsMoveWhileTheServiceRuns(cluster):
    flush(cluster)
    last = len(cluster.masters) - 1
    tags = keys_in(cluster, 1, 20 if LONG else 2, "moves")
    keys = [tag + str(i) for tag in tags for i in range(3)]  # of one slot, some on either side while it moves
    with service_of(cluster) as service:
        same([service.create(key, DOUBLE, 50) for key in keys], [True] * len(keys))
    writer = Writer(cluster, keys, 0)
    writer.start()
    try:
        writer.more(100)
        for tag in tags:
            source, slot = cluster.owner(tag)
            same(cluster.move_slot(slot, source, cluster.masters[last], between=lambda: writer.more(20)), 3)
            writer.more(50)
    finally:
        writer.end()
    same(cluster.masters[last]("EXISTS", keys[0]), 1)
    expect_all(cluster, writer)


def AMasterFailsOverAndWhatWaitConfirmedIsThere(cluster):
    flush(cluster)
    for index in range(len(cluster.replicas)):
        keys = keys_in(cluster, index, 4, "fails")
        with service_of(cluster) as service:
            same([service.create(key, DOUBLE, 50) for key in keys], [True] * len(keys))
        writer = Writer(cluster, keys, 1)
        writer.start()
        try:
            writer.more(5000 if LONG else 300)
            dead = cluster.masters[index].port
            cluster.fail_over(index)
            # The new master has no replica, so that nothing more is confirmed; but it takes items.
            writer.replicas = 0
            before = len(writer.confirmed)
            writer.more(100)
        finally:
            writer.end()
        same(cluster.masters[index].port != dead, True)
        print("failover: %d confirmed before, %d after, %d refused" % (before, len(writer.confirmed) - before, writer.refused))
        expect_all(cluster, writer)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # python3-redis logs every MOVED as an exception
    with Cluster(replicas=3 if LONG else 1) as started:
        sys.exit(run_tests("cluster", globals(), started) != 0)
