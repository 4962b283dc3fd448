import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  edges,
  indexItems,
  itemAt,
  itemsBetween,
  joinItems,
  stillSufficient,
  type TraceItems,
  waitFrom,
  windowToRequest,
} from './trace_items.ts';

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function some(seed: number): TraceItems {
  const next = random(seed);
  const lane: number[] = [];
  const start: number[] = [];
  const dur: number[] = [];
  for (let l = 0; l < 3; l++) {
    let at = 0;
    for (let i = 0; i < 60; i++) {
      at += Math.floor(next() * 20);
      lane.push(l);
      start.push(at);
      dur.push(Math.floor(next() * 30));
      at += dur.at(-1)!;
    }
  }
  const zeros = lane.map(() => 0);
  const columns = { lane, start, dur, name: zeros, op: zeros, kind: zeros, busy: zeros, count: zeros };
  const slice = lane.map((_, i) => i);
  return indexItems({ ...columns, slice, wait: zeros, critical: zeros }, ['a'], 3, 0, 5000);
}

test('the items of a window equal those of a full scan', () => {
  for (let seed = 0; seed < 20; seed++) {
    const items = some(seed);
    const { lane, start, dur } = items.columns;
    for (const [l, t0, t1] of [
      [0, 100, 300],
      [2, 0, 10],
      [1, 900, 5000],
      [1, 400, 400],
    ] as [number, number, number][]) {
      const [from, to] = itemsBetween(items, l, t0, t1);
      const found = Array.from({ length: to - from }, (_, k) => from + k);
      const expected = Array.from(lane, (_, i) => i).filter(
        (i) => lane[i] === l && start[i]! + dur[i]! >= t0 && start[i]! <= t1,
      );
      assert.deepEqual(found, expected);
    }
  }
});

test('the item under the pointer is the nearest within the slop', () => {
  const items = some(3);
  const { start, dur, lane } = items.columns;
  for (let i = 0; i < lane.length; i++) {
    if (dur[i]! < 3) continue;
    assert.equal(itemAt(items, lane[i]!, start[i]! + dur[i]! / 2, 5), i);
  }
  assert.equal(itemAt(items, 0, 1e9, 5), -1);
});

test('replies about different tracks are joined and keep their names', () => {
  const part = (lane: number, name: string) => ({
    names: [name, 'both'],
    columns: {
      lane: [lane, lane],
      start: [0, 10],
      dur: [5, 5],
      name: [0, 1],
      op: [0, 0],
      kind: [0, 0],
      busy: [1, 1],
      count: [1, 1],
      slice: [2 * lane, 2 * lane + 1],
      wait: [0, 0],
      critical: [0, 0],
    },
  });
  const { columns, names } = joinItems([part(0, 'a'), part(256, 'b'), part(300, 'c')]);
  const items = indexItems(columns, names, 301, 0, 20);
  for (const [lane, name] of [
    [0, 'a'],
    [256, 'b'],
    [300, 'c'],
  ] as [number, string][]) {
    const [from, to] = itemsBetween(items, lane, 0, 20);
    const names = Array.from({ length: to - from }, (_, k) => items.names[items.columns.name[from + k]!]);
    assert.deepEqual(names, [name, 'both']);
    assert.equal(items.columns.slice[from], 2 * lane);
  }
});

test('an item narrower than a pixel is a pixel wide', () => {
  assert.deepEqual(edges(100, 50, 0, 1, 1), [100, 150]);
  assert.deepEqual(edges(100, 0.1, 0, 1, 1), [100, 101]);
});

test('a wait begins no earlier than the slice before it ends', () => {
  assert.equal(waitFrom(100, 40, 80), 80);
  assert.equal(waitFrom(100, 10, 80), 90);
});

test('a fetched range suffices for a pan and a small zoom only', () => {
  const duration = 1e6;
  const requested = windowToRequest(400_000, 500_000, 1000, duration, 0.5);
  assert.ok(requested.t0 <= 350_000 && requested.t1 >= 550_000 && requested.px === 2000);
  assert.ok(stillSufficient(requested, 440_000, 540_000, 1000, duration));
  assert.ok(!stillSufficient(requested, 480_000, 580_000, 1000, duration));
  assert.ok(!stillSufficient(requested, 440_000, 460_000, 1000, duration));
  assert.deepEqual(windowToRequest(-1e4, 1.01e6, 1020, duration, 0.5), { t0: 0, t1: duration, px: 1000 });
  assert.ok(stillSufficient({ t0: 0, t1: duration, px: 1000 }, -1e4, 1.01e6, 1000, duration));
});

test('a fetched range suffices for the window it was requested for', () => {
  const next = random(7);
  for (let turn = 0; turn < 20_000; turn++) {
    const duration = Math.floor(10 ** (9 * next()));
    const span = 10 ** (1 + 10 * next());
    const t0 = (next() * 3 - 1.5) * 10 ** (9 * next());
    const width = 100 + Math.floor(5000 * next());
    const around = [0.04, 0.5][turn % 2]!;
    const requested = windowToRequest(t0, t0 + span, width, duration, around);
    const about = JSON.stringify({ t0, span, width, duration, requested });
    assert.ok(requested.px >= 16 && requested.px <= 8192, about);
    assert.ok(requested.t0 >= 0 && requested.t1 <= duration, about);
    assert.ok(stillSufficient(requested, t0, t0 + span, width, duration), about);
  }
});

test('a step that is short in a long window is requested at its width in pixels', () => {
  assert.deepEqual(windowToRequest(-1000, 9000, 1000, 1000, 0.04), { t0: 0, t1: 1000, px: 100 });
});
