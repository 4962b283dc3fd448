import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heightOf, type LaneInfo, laneMiddle, lanesBetween, layRows, rowAt, type Section } from './rows.ts';

function lane(id: number, task: string, device: string, row = 0): LaneInfo {
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

test('a device of several lanes is a group, a device of one is its lane', () => {
  const rows = layRows([section], new Set(), true);
  assert.deepEqual(
    rows.map((row) => [row.kind, row.title, row.lanes]),
    [
      ['group', 'w0 · CPU:0', []],
      ['lane', 'thread 0', [0]],
      ['lane', '', [1]],
      ['lane', 'w0 · GPU:0', [2]],
      ['lane', 'w1 · CPU:0', [3]],
      ['memory', 'cpu', []],
    ],
  );
});

test('rows follow each other without gaps', () => {
  const rows = layRows([section, { ...section, title: 'step 9' }], new Set(), true);
  let y = 0;
  for (const row of rows) {
    assert.equal(row.y, y);
    y += row.height;
  }
  assert.equal(heightOf(rows), y);
  for (const row of rows) {
    assert.equal(rowAt(rows, row.y), row);
    assert.equal(rowAt(rows, row.y + row.height - 0.5), row);
  }
  assert.equal(rowAt(rows, y), null);
  assert.equal(rowAt(rows, -1), null);
});

test('a closed group draws all its lanes in one row', () => {
  const rows = layRows([section], new Set(['w0|CPU:0']), false);
  assert.deepEqual(rows[0]!.lanes, [0, 1]);
  assert.equal(rows.length, 3);
  const middles = [0, 1, 2].map((id) => laneMiddle(rows, 0, id)!);
  assert.ok(middles[0]! < middles[1]! && middles[1]! < rows[0]!.height && middles[2]! > rows[0]!.height);
  assert.equal(laneMiddle(rows, 1, 0), null);
});

test('lanes grow into the room, headings do not', () => {
  const [low, high] = [1, 1.5].map((stretch) => layRows([section], new Set(), true, stretch));
  assert.equal(high![0]!.height, low![0]!.height);
  assert.equal(high![1]!.height, low![1]!.height * 1.5);
  assert.ok(heightOf(high!) > heightOf(low!));
});

test('a lane has its scopes above it, what overlaps it has none', () => {
  const rows = layRows([section], new Set(), false, 1, 2);
  assert.deepEqual(
    rows.slice(0, 6).map((row) => [row.kind, row.of, row.lanes]),
    [
      ['group', -1, []],
      ['scopes', 0, []],
      ['scopes', 0, []],
      ['lane', -1, [0]],
      ['lane', -1, [1]],
      ['scopes', 2, []],
    ],
  );
});

test('an area selects the lanes that it touches, of its own step', () => {
  const rows = layRows([section, { ...section, title: 'b' }], new Set(), false);
  const [, first, second, third] = rows;
  assert.deepEqual(lanesBetween(rows, 0, first!.y + 1, third!.y + 1), [0, 1, 2]);
  assert.deepEqual(lanesBetween(rows, 0, second!.y + 3, second!.y + 2), [1]);
  assert.deepEqual(lanesBetween(rows, 1, 0, 10), []);
});
