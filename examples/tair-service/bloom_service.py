"""Bloom filters on a cluster of Redis or Valkey servers, for a program that was written against TairBloom.

The five calls such a service needs are BF.RESERVE, BF.ADD, BF.EXISTS, EXISTS and DEL. TairBloom, RedisBloom and the module of
Bloomery answer them alike, so that the servers can change and the service does not. Each call answers with True or False;
what went wrong is False, too, and is logged.

    from redis.cluster import ClusterNode, RedisCluster
    nodes = [ClusterNode("127.0.0.1", port) for port in (7000, 7001, 7002)]
    service = BloomService(lambda: RedisCluster(startup_nodes=nodes))
    service.create("seen:2026-11", "1.0E-4", 1_000_000)   # True: there was none
    service.add("seen:2026-11", "alice")                  # True: alice is new
    service.exists("seen:2026-11", "alice")               # True
    service.delete("seen:2026-11")                        # True: there was one
"""

import logging

import redis
from redis.exceptions import RedisClusterException

log = logging.getLogger(__name__)


class BloomService:
    """`connect` makes a redis.Redis, or a redis.cluster.RedisCluster, which follows MOVED and ASK."""

    def __init__(self, connect):
        self._connect = connect
        self._client = None

    def create(self, key, error_rate, capacity):
        """False if the key exists. The error rate is sent as it is printed: "1.0E-4", as Java prints a double, is fine."""
        return self._ask("BF.RESERVE", key, error_rate, capacity) in (b"OK", True)

    def add(self, key, item):
        """Whether the item is new. False if the filter knows it, or if there is none: BF.ADD alone would make one."""
        return self.has(key) and self._ask("BF.ADD", key, item) == 1

    def exists(self, key, item):
        """Whether the filter may have the item. False if there is no filter."""
        return self._ask("BF.EXISTS", key, item) == 1

    def has(self, key):
        """Whether there is a filter."""
        return self._ask("EXISTS", key) == 1

    def delete(self, key):
        """False if there is no filter."""
        return self._ask("DEL", key) == 1

    def client(self):
        if self._client is None:
            self._client = self._connect()
        return self._client

    def close(self):
        if self._client is not None:
            self._client.close()
        self._client = None

    def _ask(self, command, key, *arguments):
        """The server's answer; None if there is none."""
        try:
            return self.client().execute_command(command, key, *arguments)
        except redis.ResponseError as why:
            log.warning("%s %s: %s", command, key, why)
        except (redis.RedisError, RedisClusterException) as why:
            log.warning("%s %s: %s", command, key, why)
            self.close()  # the next call connects anew, to the cluster as it is then
        return None
