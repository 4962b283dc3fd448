import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  edges,
  indexItems,
  itemAt,
  itemOfSlice,
  itemsBetween,
  stillGood,
  type TraceItems,
  waitFrom,
  windowToAsk,
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

test('items of a window are those that a loop over all finds', () => {
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
      const wanted = Array.from(lane, (_, i) => i).filter(
        (i) => lane[i] === l && start[i]! + dur[i]! >= t0 && start[i]! <= t1,
      );
      assert.deepEqual(found, wanted);
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

test('a slice is found by its number, and what it was merged into by its time', () => {
  const items = some(4);
  const { start, lane } = items.columns;
  assert.equal(itemOfSlice(items, lane[70]!, 70, start[70]!), 70);
  assert.equal(items.columns.lane[itemOfSlice(items, 1, 99_999, start[70]!)], 1);
});

test('what is too narrow to be seen is a pixel wide', () => {
  assert.deepEqual(edges(100, 50, 0, 1, 1), [100, 150]);
  assert.deepEqual(edges(100, 0.1, 0, 1, 1), [100, 101]);
});

test('a wait begins no earlier than the slice before it ends', () => {
  assert.equal(waitFrom(100, 40, 80), 80);
  assert.equal(waitFrom(100, 10, 80), 90);
});

test('what is asked for serves a pan and a small zoom, and no more than that', () => {
  const duration = 1e6;
  const asked = windowToAsk(400_000, 500_000, 1000, duration);
  assert.ok(asked.t0 <= 350_000 && asked.t1 >= 550_000 && asked.px === 2000);
  assert.ok(stillGood(asked, 440_000, 540_000, 1000, duration));
  assert.ok(!stillGood(asked, 480_000, 580_000, 1000, duration));
  assert.ok(!stillGood(asked, 440_000, 460_000, 1000, duration));
  assert.deepEqual(windowToAsk(-1e4, 1.01e6, 1000, duration), { t0: 0, t1: duration, px: 1000 });
  assert.ok(stillGood({ t0: 0, t1: duration, px: 1000 }, -1e4, 1.01e6, 1000, duration));
});
