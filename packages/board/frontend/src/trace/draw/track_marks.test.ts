import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexItems, MERGED, OP, RECV } from '../data/trace_items.ts';
import { PixelRows, pixelOf } from './pixel_rows.ts';
import type { DrawnSection } from './timeline_scene.ts';
import type { Tone } from './trace_colours.ts';
import { marksOfTrack } from './track_marks.ts';

const PATH = pixelOf('#123456');

function tone(base: number): Tone {
  const levels = Array.from({ length: 9 }, (_, level) => base + level);
  return {
    title: '',
    fills: [],
    dimmed: [],
    pixels: Uint32Array.from(levels),
    dimmedPixels: Uint32Array.from(levels, (v) => v + 50),
    border: '',
    text: '',
  };
}

type Item = { start: number; dur: number; kind?: number; busy?: number; wait?: number; critical?: number };

function section(items: Item[]): DrawnSection {
  const column = (of: (item: Item, i: number) => number) => Float64Array.from(items, of);
  const columns = {
    lane: column(() => 0),
    start: column((i) => i.start),
    dur: column((i) => i.dur),
    name: column((_, i) => i),
    op: column(() => 0),
    kind: column((i) => i.kind ?? OP),
    busy: column((i) => i.busy ?? 1),
    count: column(() => 1),
    slice: column((_, i) => i),
    wait: column((i) => i.wait ?? 0),
    critical: column((i) => i.critical ?? 0),
  };
  const names = items.map((_, i) => `n${i}`);
  return {
    trace: 0,
    duration: 1000,
    items: indexItems(columns, names, 1, 0, 1000),
    painted: { tones: [tone(100)], tone: new Uint16Array(items.length) },
    summary: null,
    memory: [],
    marked: [],
  };
}

const view = { t0: 0, t1: 1000 };
const plain = { view, width: 100, ratio: 1, critical: false, found: null };

function painted(items: Item[], picture: Partial<Parameters<typeof marksOfTrack>[0]> = {}) {
  const of = { ...plain, ...picture };
  const pixels = new PixelRows();
  const width = of.width * of.ratio;
  pixels.begin(width, 2);
  const onPath = of.critical ? { row: 1, pixel: PATH } : null;
  const marks = marksOfTrack(of, section(items), 0, pixels, 0, onPath, true);
  const row = (r: number) => Array.from({ length: width }, (_, x) => pixels.at(r, x));
  return { marks, items: row(0), path: row(1) };
}

test('narrow items become pixels, wide items are drawn one by one, and none is both', () => {
  const found = painted([
    { start: 0, dur: 4 },
    { start: 20, dur: 30 },
    { start: 100, dur: 200 },
  ]);
  assert.deepEqual(
    found.items.flatMap((pixel, x) => (pixel ? [x] : [])),
    [0, 2, 3, 4],
  );
  assert.deepEqual(
    found.marks.wide.map(({ item, left, right }) => [item, left, right]),
    [[2, 10, 30]],
  );
});

test('an item shorter than a pixel takes one pixel, unless an earlier item has it', () => {
  const found = painted([
    { start: 500, dur: 1 },
    { start: 502, dur: 1 },
    { start: 510, dur: 1 },
  ]);
  assert.deepEqual(
    found.items.flatMap((pixel, x) => (pixel ? [x] : [])),
    [50, 51],
  );
});

test('merged items become pixels of their fill level, however wide they are', () => {
  const found = painted([{ start: 0, dur: 500, kind: MERGED, busy: 0.5 }]);
  assert.equal(found.items[0], 104);
  assert.equal(found.items[49], 104);
  assert.equal(found.items[50], 0);
  assert.equal(found.marks.wide.length, 0);
});

test('a screen of two pixels a point has twice the pixels', () => {
  const found = painted([{ start: 10, dur: 10 }], { ratio: 2 });
  assert.deepEqual(
    found.items.flatMap((pixel, x) => (pixel ? [x] : [])),
    [2, 3],
  );
});

test('items off the critical path are dimmed, items on it are marked', () => {
  const found = painted(
    [
      { start: 0, dur: 10, critical: 1 },
      { start: 10, dur: 10, critical: 0.1 },
    ],
    { critical: true },
  );
  assert.deepEqual(found.items.slice(0, 3), [108, 158, 0]);
  assert.deepEqual(found.path.slice(0, 3), [PATH, 0, 0]);
});

test('items that a search did not find are dimmed', () => {
  const found = painted(
    [
      { start: 0, dur: 10 },
      { start: 10, dur: 10 },
    ],
    { found: new Set(['n1']) },
  );
  assert.deepEqual(found.items.slice(0, 2), [158, 108]);
});

test('a wait lies between the end of the previous slice and the start of its own', () => {
  const found = painted([
    { start: 0, dur: 100 },
    { start: 200, dur: 100, kind: RECV, wait: 150 },
  ]);
  assert.deepEqual(found.marks.waits, [1, 10, 20]);
  assert.deepEqual(
    found.marks.wide.map(({ waiting, level }) => [waiting, level]),
    [
      [false, 8],
      [true, 2],
    ],
  );
});

test('the view may end within an item, and lie anywhere', () => {
  const found = painted([{ start: 0, dur: 1000, kind: MERGED }], {
    view: { t0: 400, t1: 500 },
  });
  assert.ok(found.items.every((pixel) => pixel === 108));
});

test('a colour becomes the bytes of a pixel', () => {
  const bytes = new Uint8Array(Uint32Array.of(pixelOf('rgb(1,2,3)')).buffer);
  assert.deepEqual([...bytes], [1, 2, 3, 255]);
});
