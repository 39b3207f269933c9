"""Never recommend twice: nothing is shown to a user again within 30 days. A window of Bloom filters for each user, in Redis.

Redis is at the socket $REDIS_SOCKET (`run` starts one). See README.md.
"""

import argparse
import os
import random
import sys
import time

import redis

DAY = 86_400


class Shown:
    """What each user was shown in the last `days`. A user has a filter for each period of time, which takes what is shown in it and
    is read until the window has passed it; then Redis deletes it (EXPIREAT). Together they are wrong at most at the rate `fpr`."""

    def __init__(self, client, days=30, periods=3, fpr=0.01, items_per_day=20):
        self.redis = client
        self.window_s = days * DAY
        self.period_s = self.window_s // periods
        self.periods = periods  # that are over and still read, beside the one that goes on
        self.capacity = items_per_day * days // periods
        self.fpr = fpr / (periods + 1)

    def choose(self, user, candidates, now):
        """The candidates that the user was surely not shown within the window, in order; they count as shown from here on. Of two
        calls at once each gets other ones. An error of Redis is the caller's: without it nothing is known to be new."""
        period = int(now) // self.period_s
        key, *old = ["shown:{%s}:%d" % (user, period - i) for i in range(self.periods + 1)]
        with self.redis.pipeline(transaction=False) as steps:
            for each in old:
                steps.execute_command("BF.MEXISTS", each, *candidates)
            answers = steps.execute()
        new = [item for item, *maybe in zip(candidates, *answers) if not any(maybe)]
        if not new:
            return []
        with self.redis.pipeline() as steps:
            steps.execute_command("BF.INSERT", key, "CAPACITY", self.capacity, "ERROR", self.fpr, "ITEMS", *new)
            steps.expireat(key, (period + 1) * self.period_s + self.window_s)
            added, _ = steps.execute()
        return [item for item, is_new in zip(new, added) if is_new]


def simulate(shown, users, days, per_day, start, random_numbers):
    """Each user gets 2 * per_day candidates a day, half of them from a common catalogue, half of them really new. What an exact
    list says about what was chosen."""
    last_shown = {}  # (user, item) -> time
    twice = new = refused = total = back = 0
    for day in range(days):
        now = start + day * DAY
        for user in range(users):
            fresh = ["new:%d:%d:%d" % (user, day, i) for i in range(per_day // 2)]
            candidates = fresh + ["item:%d" % i for i in random_numbers.sample(range(600), per_day // 2)]
            chosen = set(shown.choose(user, candidates, now))
            total += len(chosen)
            for item in candidates:
                before = last_shown.get((user, item))
                recent = before is not None and now - before < 30 * DAY
                twice += recent and item in chosen
                back += before is not None and not recent and item in chosen
                if before is None:
                    new += 1
                    refused += item not in chosen
                if item in chosen:
                    last_shown[user, item] = now
    return total, twice, new, refused, back


def memory_of(client, pattern):
    return sum(client.memory_usage(key, samples=0) for key in client.scan_iter(pattern, count=1000))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--users", type=int, default=10)
    options.add_argument("--days", type=int, default=70)
    options.add_argument("--per-day", type=int, default=20)
    given = options.parse_args()
    client = redis.Redis(unix_socket_path=os.environ["REDIS_SOCKET"])
    shown = Shown(client, items_per_day=given.per_day)
    start = int(time.time()) // shown.period_s * shown.period_s

    total, twice, new, refused, back = simulate(shown, given.users, given.days, given.per_day, start, random.Random(1))
    print("shown        %s items to %s users in %d days" % (f"{total:,}", f"{given.users:,}", given.days))
    print("  twice      %d within 30 days; %s came back later" % (twice, f"{back:,}"))
    print("  lost       %.2f %% of the new items were never shown (1 %% was asked for)" % (100 * refused / new))

    # The filters that the server holds when the last day is over: what a set of the same items takes.
    user = "memory"
    items = ["new:%d" % i for i in range(20 * 30)]
    for day in range(30):
        shown.choose(user, items[20 * day:20 * day + 20], start + day * DAY)
    client.sadd("set", *items)
    print("memory       %s bytes a user for 600 items in 30 days; %s in a set of Redis" %
          (f"{memory_of(client, 'shown:{memory}:*'):,}", f"{client.memory_usage('set', samples=0):,}"))
    left = sorted((client.ttl(key) + int(time.time()) - start + DAY // 2) // DAY for key in client.scan_iter("shown:{memory}:*"))
    print("expires      its filters leave on days %s" % ", ".join(map(str, left)))

    # Two requests of one user at the same moment: both ask for the same ten new items.
    first = shown.choose("twins", ["a%d" % i for i in range(10)], start)
    second = shown.choose("twins", ["a%d" % i for i in range(10)], start)
    print("again        of ten new items %d are shown, the second time %d" % (len(first), len(second)))
    sys.stdout.flush()

    try:
        client.shutdown(nosave=True)
    except redis.ConnectionError:
        pass
    try:
        print("Redis ends   SHOWN: %s" % shown.choose("user", ["item"], start))
    except redis.RedisError as why:
        print("Redis ends   nothing is shown: %s" % type(why).__name__)


if __name__ == "__main__":
    main()
