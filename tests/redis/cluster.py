"""A cluster of real servers with the module: masters that share the slots, and replicas of them."""

import random
import socket

from support import Error, Server, Simple, same, wait_until

SLOTS = 16384
# A pause of the machine is no failure of a server yet; a server that was killed is noticed soon.
NODE_TIMEOUT_MS = 2000


def cluster_server():
    """A server that can be a node. Its second port, for other nodes, is any free one."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        bus = other.getsockname()[1]
    return Server("--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", NODE_TIMEOUT_MS,
                  "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"), bus


class Node:
    def __init__(self):
        for _ in range(5):
            self.server, self.bus = cluster_server()
            try:
                self.server.start()
                break
            except RuntimeError:  # another process took the second port meanwhile
                self.server.__exit__()
        else:
            raise RuntimeError("no node of a cluster starts")
        self.client = self.server.client()
        self.id = self.client("CLUSTER", "MYID").decode()
        self.port = self.server.port

    def __call__(self, *words):
        return self.client(*words)


class Cluster:
    """`replicas` of the masters have one: of the first ones. masters[i] and replicas[i] belong together."""

    def __init__(self, masters=3, replicas=1):
        self.nodes = []
        try:
            for _ in range(masters + replicas):
                self.nodes.append(Node())
            self.masters, self.replicas = self.nodes[:masters], self.nodes[masters:]
            self._join()
        except BaseException:
            self.__exit__()
            raise

    def _join(self):
        for i, master in enumerate(self.masters):
            same(master("CLUSTER", "SET-CONFIG-EPOCH", i + 1), Simple("OK"))
            last = SLOTS * (i + 1) // len(self.masters) - 1
            same(master("CLUSTER", "ADDSLOTSRANGE", SLOTS * i // len(self.masters), last), Simple("OK"))
        first = self.nodes[0]
        for node in self.nodes[1:]:
            same(first("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus), Simple("OK"))
        everyone = {node.id for node in self.nodes}
        wait_until(lambda: all(everyone == {line.split()[0] for line in self.lines(node)} for node in self.nodes))
        for replica, master in zip(self.replicas, self.masters):
            same(replica("CLUSTER", "REPLICATE", master.id), Simple("OK"))
        # Every node knows who has which slots and who is whose replica, and replicas are in step.
        wait_until(lambda: all(node.client("CLUSTER", "INFO").startswith(b"cluster_state:ok") for node in self.nodes))
        wait_until(lambda: all(sum("slave" in line.split()[2] for line in self.lines(node)) == len(self.replicas) for node in self.nodes))
        wait_until(lambda: all(replica.client.info("replication").get("master_link_status") == "up" for replica in self.replicas))

    @staticmethod
    def lines(node):
        return node("CLUSTER", "NODES").decode().splitlines()

    def owner(self, key):
        """The master that has the slot of the key, and the slot."""
        slot = self.nodes[0]("CLUSTER", "KEYSLOT", key)
        for node in self.masters:
            if not isinstance(node("CLUSTER", "COUNTKEYSINSLOT", slot), Error) and not isinstance(node("EXISTS", key), Error):
                return node, slot
        raise KeyError(key)

    def move_slot(self, slot, source, target, between=lambda: None):
        """As redis-cli --cluster reshard does. `between` runs while the slot has keys on both sides."""
        same(target("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id), Simple("OK"))
        same(source("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id), Simple("OK"))
        moved = 0
        while keys := source("CLUSTER", "GETKEYSINSLOT", slot, 1):
            same(source("MIGRATE", "127.0.0.1", target.port, "", 0, 20000, "KEYS", *keys), Simple("OK"))
            moved += len(keys)
            between()
        for node in [target, source, *(m for m in self.masters if m not in (source, target))]:
            same(node("CLUSTER", "SETSLOT", slot, "NODE", target.id), Simple("OK"))
        return moved

    def fail_over(self, index):
        """Kills a master that has a replica, and waits until the replica took its place and is known to the others."""
        master, replica = self.masters[index], self.replicas[index]
        master.server.kill()
        rest = [node for node in self.nodes if node is not master]
        known = lambda node: any(line.split()[0] == replica.id and "master" in line.split()[2] for line in self.lines(node))
        whole = lambda node: node("CLUSTER", "INFO").startswith(b"cluster_state:ok")
        wait_until(lambda: all(known(node) and whole(node) for node in rest), 60)
        self.masters[index] = replica
        self.nodes = rest

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.server.__exit__()
