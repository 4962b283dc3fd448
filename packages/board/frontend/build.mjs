// Bundles src/main.tsx: node build.mjs [--out FOLDER] [--test-hooks]. The result is whole or not there at all.

import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf('--out');
const out = path.resolve(at > 0 ? process.argv[at + 1] : path.join(here, '../src/headrace/board/assets'));
mkdirSync(path.dirname(out), { recursive: true });
const withTestHooks = process.argv.includes('--test-hooks');
const made = mkdtempSync(`${out}.making-`);
process.on('exit', () => rmSync(made, { recursive: true, force: true })); // also after a failed bundle

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  outdir: made,
  define: { TEST_HOOKS: String(withTestHooks) },
};
// Workers are built first: each is one file, found by name from the page.
const workers = [];
const find = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) find(file);
    else if (entry.name.endsWith('.worker.ts')) workers.push(file);
  }
};
find(path.join(here, 'src'));
const worked = await esbuild.build({
  ...shared,
  entryPoints: workers,
  entryNames: '[name]-[hash]',
  format: 'iife',
  metafile: true,
});
const nameOfWorker = {};
for (const [file, { entryPoint }] of Object.entries(worked.metafile.outputs)) {
  if (entryPoint) nameOfWorker[path.basename(entryPoint, '.worker.ts')] = path.basename(file);
}
const main = await esbuild.build({
  ...shared,
  entryPoints: [{ in: 'src/main.tsx', out: 'main' }],
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  splitting: true,
  metafile: true,
  define: { ...shared.define, WORKER_FILES: JSON.stringify(nameOfWorker) },
});
const entry = Object.entries(main.metafile.outputs).find(([, o]) => o.entryPoint === 'src/main.tsx');
const script = path.basename(entry[0]);
const style = path.basename(entry[1].cssBundle);
writeFileSync(
  path.join(made, 'index.html'),
  readFileSync(path.join(here, 'src/index.html'), 'utf8').replace('SCRIPT', script).replace('STYLE', style),
);
copyFileSync(path.join(here, 'src/icon.svg'), path.join(made, 'icon.svg'));

// Bundled code keeps the notice that its licence requires.
const bundled = new Set();
for (const { inputs } of [worked.metafile, main.metafile]) {
  for (const file of Object.keys(inputs)) {
    const found = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) bundled.add(found[1]);
  }
}
const notices = [...bundled].sort().map((name) => {
  const folder = path.join(here, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file));
  const text = texts.map((file) => readFileSync(path.join(folder, file), 'utf8').trim()).join('\n\n');
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(path.join(made, 'third_party_licenses.txt'), notices.join(`\n${'-'.repeat(80)}\n\n`));

// The manifest is all that the server serves: no path of a request ever reaches the file system.
const types = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const files = {};
let gzipped = 0;
for (const name of readdirSync(made).sort()) {
  if (name.endsWith('.txt')) continue;
  const bytes = readFileSync(path.join(made, name));
  const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  files[name] = { type: types[path.extname(name)], etag };
  if (
    path.extname(name) === '.js' &&
    (name === script ||
      entry[1].imports.some((i) => i.kind === 'import-statement' && path.basename(i.path) === name))
  ) {
    gzipped += gzipSync(bytes, { level: 9 }).length;
  }
}
writeFileSync(path.join(made, 'manifest.json'), JSON.stringify({ files, core_gzip_bytes: gzipped }, null, 1));

// Two builds at once: the last one wins, and no request sees a half-written folder for long.
const old = `${out}.old-${process.pid}`;
try {
  if (statSync(out, { throwIfNoEntry: false })) renameSync(out, old);
  renameSync(made, out);
} finally {
  rmSync(old, { recursive: true, force: true });
}
process.stdout.write(
  `front end: ${Object.keys(files).length} files, core ${(gzipped / 1024).toFixed(1)} KiB gzipped\n`,
);
