"""Clients that Debian does not have, from npm: @redis/bloom 5 with @redis/client, in RESP2 and RESP3, on a server and a cluster.

A program of its own and not of ./test: it needs npm's registry. `./test clients` runs it, and .ci/run."""

import subprocess
import sys

from cluster import Cluster
from support import ROOT, Server, node_redis, run_tests, same

VERSION = "@redis/bloom 5.12.1"


def packages():
    found = subprocess.run([str(ROOT / "scripts/npm_packages"), str(ROOT / "tests/redis/npm")], stdout=subprocess.PIPE, check=True)
    return found.stdout.decode().strip()


def RedisBloomOfNpmWorksInBothProtocols():
    with Server() as server:
        client = server.client()
        for protocol in (2, 3):
            client("FLUSHALL")
            same(node_redis(packages(), "single", server.port, protocol), "%s, RESP%d" % (VERSION, protocol))


def RedisBloomOfNpmKnowsTheCluster():
    with Cluster(replicas=0) as cluster:
        for protocol in (2, 3):
            for master in cluster.masters:
                master("FLUSHALL")
            same(node_redis(packages(), "cluster", cluster.masters[0].port, protocol), "%s, RESP%d" % (VERSION, protocol))


if __name__ == "__main__":
    sys.exit(run_tests("npm_clients", globals()) != 0)
