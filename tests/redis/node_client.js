// node node_client.js single|cluster PORT PROTOCOL: BF.* and CF.* by node-redis and its @redis/bloom, wherever NODE_PATH or
// node_modules has them. Works with 1.x (Debian) and 5.x (npm): their answers are alike but for the names of INFO and how bytes are
// requested. Prints the version and the protocol. Exit 0: every answer was the expected one.
"use strict";
const assert = require("node:assert/strict");
const redis = require("@redis/client");
const bloom = require("@redis/bloom");

const [, , shape, port, protocol] = process.argv;
const modules = bloom.default ?? bloom;
const url = `redis://127.0.0.1:${port}`;
const is5 = redis.RESP_TYPES !== undefined;
const options = is5 ? { RESP: Number(protocol) } : {};
const field = (info, name, old) => Number(info[name] ?? info[old]);

// 1.x takes options as a first argument, 5.x has clients with other types.
async function scanDump(client, family, key, iterator) {
  if (is5) {
    return client.withTypeMapping({ [redis.RESP_TYPES.BLOB_STRING]: Buffer })[family].scanDump(key, iterator);
  }
  return client[family].scanDump(redis.commandOptions({ returnBuffers: true }), key, iterator);
}

async function copyByChunks(client, family, from, to) {
  for (let iterator = 0, chunks = 0; ; ++chunks) {
    const piece = await scanDump(client, family, from, iterator);
    iterator = Number(piece.iterator);
    if (iterator === 0) return chunks;
    assert.equal(await client[family].loadChunk(to, iterator, piece.chunk), "OK");
  }
}

async function bloomFilters(client) {
  const bf = client.bf;
  assert.equal(await bf.reserve("{a}k", 0.01, 1000, { EXPANSION: 4 }), "OK");
  assert.equal(await bf.add("{a}k", "a"), true);
  assert.equal(await bf.add("{a}k", "a"), false);
  assert.deepEqual(await bf.mAdd("{a}k", ["a", "b"]), [false, true]);
  assert.deepEqual(await bf.insert("m", ["x", "y", "x"], { CAPACITY: 50, ERROR: 0.0000001, NONSCALING: true }), [true, true, false]);
  await assert.rejects(bf.insert("absent", "x", { NOCREATE: true }), /not found/);
  assert.equal(await bf.exists("{a}k", "a"), true);
  assert.equal(await bf.exists("absent", "a"), false);
  assert.deepEqual(await bf.mExists("{a}k", ["a", "z"]), [true, false]);
  const info = await bf.info("{a}k");
  assert.equal(field(info, "Capacity", "capacity"), 1000);
  assert.equal(field(info, "Number of filters", "numberOfFilters"), 1);
  assert.equal(field(info, "Number of items inserted", "numberOfInsertedItems"), 2);
  assert.equal(field(info, "Expansion rate", "expansionRate"), 4);
  assert.equal((await bf.info("m"))["Expansion rate"] ?? null, null);
  if (bf.card) assert.equal(await bf.card("{a}k"), 2);
  await assert.rejects(bf.reserve("{a}k", 0.01, 10), /item exists/);
}

async function cuckooFilters(client) {
  const cf = client.cf;
  assert.equal(await cf.reserve("{a}c", 1000, { BUCKETSIZE: 4, MAXITERATIONS: 10, EXPANSION: 4 }), "OK");
  assert.equal(await cf.add("{a}c", "a"), true);
  assert.deepEqual([await cf.addNX("{a}c", "a"), await cf.addNX("{a}c", "b")], [false, true]);
  assert.deepEqual(await cf.insert("n", ["x", "y", "x"], { CAPACITY: 50 }), [true, true, true]);
  const isNew = await cf.insertNX("n", ["x", "z"], { NOCREATE: true });
  assert.deepEqual(isNew.map(Boolean), [false, true]);
  assert.deepEqual([await cf.exists("{a}c", "a"), await cf.exists("{a}c", "z")], [true, false]);
  assert.deepEqual([await cf.count("n", "x"), await cf.del("n", "x"), await cf.count("n", "x")], [2, true, 1]);
  const info = await cf.info("{a}c");
  assert.equal(field(info, "Size", "size"), 1080);
  assert.equal(field(info, "Number of items inserted", "numberOfInsertedItems"), 2);
  assert.equal(field(info, "Bucket size", "bucketSize"), 4);
  await assert.rejects(cf.reserve("{a}c", 10), /item exists/);
}

async function copies(client) {
  const items = Array.from({ length: 3000 }, (_, i) => `item:${i}`);
  await client.bf.mAdd("{a}k", items);
  await client.cf.insert("{a}c", items);
  assert.ok((await copyByChunks(client, "bf", "{a}k", "{a}k2")) > 2);
  assert.ok((await copyByChunks(client, "cf", "{a}c", "{a}c2")) > 2);
  assert.ok((await client.bf.mExists("{a}k2", items)).every((one) => one === true));
  for (const item of items.slice(0, 100)) assert.equal(await client.cf.exists("{a}c2", item), true);
  assert.deepEqual(await client.bf.info("{a}k2"), await client.bf.info("{a}k"));
  assert.deepEqual(await client.cf.info("{a}c2"), await client.cf.info("{a}c"));
}

async function main() {
  const client =
    shape === "cluster"
      ? redis.createCluster({ rootNodes: [{ url }], modules, defaults: options, ...options })
      : redis.createClient({ url, modules, ...options });
  client.on("error", (why) => { throw why; });
  await client.connect();
  await bloomFilters(client);
  await cuckooFilters(client);
  let spoken = protocol;
  if (shape === "single") {
    await copies(client);
    spoken = /resp=(\d)/.exec(await client.sendCommand(["CLIENT", "INFO"]))[1];
  }
  console.log(`@redis/bloom ${require("@redis/bloom/package.json").version}, RESP${spoken}`);
  await (client.close ? client.close() : client.quit());
}

main().catch((why) => {
  console.error(why);
  process.exit(1);
});
