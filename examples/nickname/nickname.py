"""Nicknames that are unique: a Bloom filter in Redis says while somebody types that a name is free, a database decides who has it.

Redis is at the socket $REDIS_SOCKET (`run` starts one); the database is SQLite. See README.md.
"""

import argparse
import os
import sqlite3
import sys
import threading
import time
import unicodedata

import redis


class Nicknames:
    """One for each thread. The filter is the key `nicknames`; its "no" is believed while the key `nicknames:complete` is there."""

    FILTER, COMPLETE = "nicknames", "nicknames:complete"

    def __init__(self, client, database, expected):
        self.redis = client
        self.expected = expected
        self.statements = 0
        self.warned = False
        self.database = sqlite3.connect(database, timeout=20, isolation_level=None)
        self.database.execute("PRAGMA synchronous = OFF")  # an example need not outlive a power cut
        self.database.execute("CREATE TABLE IF NOT EXISTS nicknames (name TEXT PRIMARY KEY, user INTEGER NOT NULL)")

    @staticmethod
    def canonical(name):
        """Names that look alike are one: Ａlice, ALICE and alice."""
        return unicodedata.normalize("NFKC", name).casefold()

    def is_free(self, name):
        """A hint for who is typing. "Absent" needs no database; all else, also Redis that is gone, is decided there."""
        name = self.canonical(name)
        if self._ask(lambda: self._surely_absent(name)):
            return True
        return not self._sql("SELECT 1 FROM nicknames WHERE name = ?", name).fetchall()

    def register(self, name, user):
        """Whether the user has the name now. It goes to the filter first, so that a name of the table is never absent there; the
        table's primary key decides, so that of any number of users one wins."""
        name = self.canonical(name)
        self._ask(lambda: self._add([name]))
        return self._sql("INSERT OR IGNORE INTO nicknames VALUES (?, ?)", name, user).rowcount == 1

    def complete(self):
        """Makes the filter from the table. Names that are registered meanwhile are in it as well: it takes them from now on, and is
        believed when all others are in it."""
        with self.redis.pipeline() as steps:
            steps.delete(self.COMPLETE, self.FILTER)
            steps.execute_command("BF.RESERVE", self.FILTER, 0.01, self.expected)
            steps.execute()
        rows = self._sql("SELECT name FROM nicknames")
        while names := [name for name, in rows.fetchmany(1000)]:
            self._add(names)
        self.redis.set(self.COMPLETE, 1)

    def _surely_absent(self, name):
        # A filter that is not there, because Redis was restarted or evicted it, answers 0 as well: hence the other key.
        with self.redis.pipeline() as steps:
            steps.exists(self.FILTER, self.COMPLETE)
            steps.execute_command("BF.EXISTS", self.FILTER, name)
            there, maybe = steps.execute()
        if there != 2:
            self.complete()
            return False
        return maybe == 0

    def _add(self, names):
        try:
            self.redis.execute_command("BF.INSERT", self.FILTER, "NOCREATE", "ITEMS", *names)
        except redis.ResponseError:  # there is none
            self.complete()
            self.redis.execute_command("BF.INSERT", self.FILTER, "NOCREATE", "ITEMS", *names)

    def _ask(self, question):
        """None, which is as good as "maybe", when Redis cannot say."""
        try:
            return question()
        except redis.RedisError as why:
            if not self.warned:
                print("nicknames: the filter is not reachable, the database decides all: %s" % type(why).__name__, file=sys.stderr)
                self.warned = True
            return None

    def _sql(self, statement, *values):
        self.statements += 1
        return self.database.execute(statement, values)


def race(connect, names, clients):
    """All clients register the same names at the same moment. Who won each name."""
    together = threading.Barrier(clients)
    winners = {}
    lock = threading.Lock()

    def client(user):
        nicknames = connect()
        for name in names:
            together.wait()
            if nicknames.register(name, user):
                with lock:
                    winners.setdefault(name, []).append(user)

    threads = [threading.Thread(target=client, args=(user,)) for user in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return winners


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--names", type=float, default=3000)
    options.add_argument("--lookups", type=float, default=3000)
    options.add_argument("--folder", default=".")
    given = options.parse_args()
    names, lookups = int(given.names), int(given.lookups)
    path = os.path.join(given.folder, "nicknames.db")
    if os.path.exists(path):
        os.unlink(path)
    client = redis.Redis(unix_socket_path=os.environ["REDIS_SOCKET"])

    def connect():
        return Nicknames(client, path, 2 * names)

    nicknames = connect()
    nicknames.database.executemany("INSERT INTO nicknames VALUES (?, ?)", (("user%d" % i, i) for i in range(names)))
    nicknames.complete()
    size = dict(zip(*[iter(client.execute_command("BF.INFO", Nicknames.FILTER))] * 2))
    print("taken        %s names; filter at 1 %% in Redis: %s KiB" % (f"{names:,}", f"{size[b'Size'] // 1024:,}"))

    # Nine of ten names that are tried are free.
    before = nicknames.statements
    wrong = 0
    started = time.monotonic()
    for i in range(lookups):
        taken = i % 10 == 0
        wrong += nicknames.is_free("USER%d" % (i % names if taken else names + i)) == taken
    each_us = (time.monotonic() - started) / lookups * 1e6
    sent = nicknames.statements - before
    useless = lookups - (lookups + 9) // 10
    print("free?        %s names tried, 90 %% of them free: %s statements, %s answers wrong, %.0f us each" %
          (f"{lookups:,}", f"{sent:,}", wrong, each_us))
    print("  saved      %.2f %% of the useless ones (usual claim: 70 to 90 %%)" % (100 * (lookups - sent) / useless))

    winners = race(connect, ["Ａlice%d" % i if i % 2 else "alice%d" % i for i in range(200)], 4)
    print("race         4 users, 200 names at the same moments: %d names have one winner, %d have more" %
          (sum(len(who) == 1 for who in winners.values()), sum(len(who) > 1 for who in winners.values())))

    client.flushall()
    print("emptied      Redis lost the filter: alice7 is %s; the filter is made again and has %s names" %
          ("FREE" if nicknames.is_free("alice7") else "taken",
           f"{client.execute_command('BF.CARD', Nicknames.FILTER):,}"))

    try:
        client.shutdown(nosave=True)
    except redis.ConnectionError:
        pass
    sys.stdout.flush()
    print("Redis ends   alice7 is %s, bob is %s, bob registers: %s, another bob: %s" %
          ("FREE" if nicknames.is_free("alice7") else "taken", "free" if nicknames.is_free("bob") else "TAKEN",
           nicknames.register("bob", 1), nicknames.register("BOB", 2)))


if __name__ == "__main__":
    main()
