// node run.mjs PROGRAM ROOT FOLDER [ARGUMENTS...]: runs a program for WASI. It sees the folder ROOT by its own name, and FOLDER
// as /tmp; its environment is this process's. Works with node 18.17 and later.
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const [program, root, folder, ...rest] = process.argv.slice(2);
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...rest],
  env: { ...process.env, TMPDIR: '/tmp' },
  preopens: { [root]: root, '/tmp': folder },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(program));
// Each call goes through a function of JavaScript. Where WebAssembly calls node's own directly, node 20 sometimes corrupts its
// heap, depending on the arguments' length, and dies when the program has ended.
const imports = {};
for (const [name, call] of Object.entries(wasi.wasiImport)) imports[name] = (...values) => call(...values);
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
process.exitCode = wasi.start(instance);
