import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Track } from '../data/trace_api.ts';
import {
  heightOf,
  layOutRows,
  pinnedHeight,
  rowAt,
  type Section,
  topOf,
  trackKey,
  trackMiddle,
  tracksBetween,
  UNCHANGED,
} from './rows.ts';

function lane(id: number, task: string, device: string, row = 0): Track {
  const shown = { task_title: task, device_title: device, thread: `thread ${id}` };
  return { id, task, device, row, slices: 1, busy_ns: 1, ...shown };
}

const lanes = [
  lane(0, 'w0', 'CPU:0'),
  lane(1, 'w0', 'CPU:0', 1),
  lane(2, 'w0', 'GPU:0'),
  lane(3, 'w1', 'CPU:0'),
];
const section: Section = { trace: 7, title: '', duration: 100, lanes, memory: ['cpu'] };

test('a device with several tracks is a group, a device with one is a single row', () => {
  const rows = layOutRows([section], UNCHANGED, true);
  assert.deepEqual(
    rows.map((row) => [row.kind, row.title, row.lanes]),
    [
      ['group', 'w0 · CPU:0', []],
      ['track', 'thread 0', [0]],
      ['track', 'thread 1 (2)', [1]],
      ['track', 'w0 · GPU:0', [2]],
      ['track', 'w1 · CPU:0', [3]],
      ['memory', 'cpu', []],
    ],
  );
});

test('rows follow each other without gaps', () => {
  const rows = layOutRows([section, { ...section, title: 'step 9' }], UNCHANGED, true);
  let y = 0;
  for (const row of rows) {
    assert.equal(row.y, y);
    y += row.height;
  }
  assert.equal(heightOf(rows), y);
  for (const row of rows) {
    assert.equal(rowAt(rows, row.y, 0), row);
    assert.equal(rowAt(rows, row.y + row.height - 0.5, 0), row);
  }
  assert.equal(rowAt(rows, y, 0), null);
  assert.equal(rowAt(rows, -1, 0), null);
});

test('a closed group draws all its tracks in one row', () => {
  const rows = layOutRows([section], { ...UNCHANGED, closed: new Set(['w0|CPU:0']) }, false);
  assert.deepEqual(rows[0]!.lanes, [0, 1]);
  assert.equal(rows.length, 3);
  const middles = [0, 1, 2].map((id) => trackMiddle(rows, 0, id, 0)!);
  assert.ok(middles[0]! < middles[1]! && middles[1]! < rows[0]!.height && middles[2]! > rows[0]!.height);
  assert.equal(trackMiddle(rows, 1, 0, 0), null);
});

test('tracks stretch to fill the room, headings do not', () => {
  const [low, high] = [1, 1.5].map((stretch) => layOutRows([section], UNCHANGED, true, stretch));
  assert.equal(high![0]!.height, low![0]!.height);
  assert.equal(high![1]!.height, low![1]!.height * 1.5);
  assert.ok(heightOf(high!) > heightOf(low!));
});

test('scopes are above a track, and subtracks have none', () => {
  const rows = layOutRows([section], UNCHANGED, false, 1, 2);
  assert.deepEqual(
    rows.slice(0, 6).map((row) => [row.kind, row.of, row.lanes]),
    [
      ['group', -1, []],
      ['scopes', 0, []],
      ['scopes', 0, []],
      ['track', -1, [0]],
      ['track', -1, [1]],
      ['scopes', 2, []],
    ],
  );
});

test('an area selects the tracks of its step that it touches', () => {
  const rows = layOutRows([section, { ...section, title: 'b' }], UNCHANGED, false);
  const [, first, second, third] = rows;
  assert.deepEqual(tracksBetween(rows, 0, first!.y + 1, third!.y + 1, 0), [0, 1, 2]);
  assert.deepEqual(tracksBetween(rows, 0, second!.y + 3, second!.y + 2, 0), [1]);
  assert.deepEqual(tracksBetween(rows, 1, 0, 10, 0), []);
});

test('pinned tracks come first and do not scroll', () => {
  const choice = { ...UNCHANGED, pinned: new Set([trackKey(lanes[3]!)]) };
  const rows = layOutRows([section], choice, true);
  assert.deepEqual(
    rows.map((row) => [row.kind, row.lanes, row.pinned]),
    [
      ['track', [3], true],
      ['group', [], false],
      ['track', [0], false],
      ['track', [1], false],
      ['track', [2], false],
      ['memory', [], false],
    ],
  );
  const high = pinnedHeight(rows);
  assert.equal(high, rows[0]!.height);
  const scroll = 30;
  assert.equal(topOf(rows[0]!, scroll), 0);
  assert.equal(rowAt(rows, 1, scroll), rows[0]);
  assert.equal(
    rowAt(rows, high + 1, scroll),
    rows.find((row) => row.y + row.height > high + 1 + scroll),
  );
  assert.equal(trackMiddle(rows, 0, 3, scroll), high / 2);
  assert.equal(trackMiddle(rows, 0, 2, scroll), trackMiddle(rows, 0, 2, 0)! - scroll);
});

test('hidden and filtered tracks have no row, nor has a group without tracks', () => {
  const hidden = layOutRows([section], { ...UNCHANGED, hidden: new Set([trackKey(lanes[2]!)]) }, false);
  assert.deepEqual(
    hidden.flatMap((row) => row.lanes),
    [0, 1, 3],
  );
  const filtered = layOutRows([section], { ...UNCHANGED, filter: ' W1 ' }, false);
  assert.deepEqual(
    filtered.map((row) => row.lanes),
    [[3]],
  );
  const none = layOutRows([section], { ...UNCHANGED, filter: 'nothing' }, false);
  assert.deepEqual(none, []);
});

test('every track has a name, also that of a stream without a thread', () => {
  const stream = { ...lane(0, '', 'GPU:0'), thread: '' };
  const rows = layOutRows([{ ...section, lanes: [stream, { ...stream, id: 1, row: 1 }] }], UNCHANGED, false);
  assert.deepEqual(
    rows.map((row) => row.title),
    ['GPU:0', 'GPU:0', 'GPU:0 (2)'],
  );
});
