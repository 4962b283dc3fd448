import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOutRows, UNCHANGED } from '../layout/rows.ts';
import { drawArrows } from './draw_arrows.ts';
import type { Context, TimelineScene } from './timeline_scene.ts';

test('the longest of many arrows are drawn, and all are counted', () => {
  const begun: number[] = [];
  const context = new Proxy(
    {},
    {
      get: (_, name) =>
        name === 'bezierCurveTo' ? (...at: number[]) => begun.push(at[4]!) : () => undefined,
      set: () => true,
    },
  ) as unknown as Context;
  const lane = {
    task: 'w',
    task_title: 'w',
    device: 'CPU',
    device_title: 'CPU',
    row: 0,
    slices: 1,
    busy_ns: 1,
  };
  const lanes = [0, 1].map((id) => ({ ...lane, id, thread: `t${id}` }));
  const transfers = Array.from({ length: 200 }, (_, i) => ({
    name: '',
    from_slice: 0,
    from_lane: 0,
    from: 0,
    to_slice: i,
    to_lane: 1,
    to: 5 + i,
    bytes: 0,
    direct: false,
  }));
  const rows = layOutRows([{ trace: 1, title: '', duration: 300, lanes, memory: [] }], UNCHANGED, false);
  const picture = {
    view: { t0: 0, t1: 300 },
    width: 300,
    height: 200,
    scroll: 0,
    rows,
    ink: {},
    sections: [{ summary: { transfers, stalls: [] } }],
  } as unknown as TimelineScene;
  // Five are too short to be arrows.
  assert.deepEqual(drawArrows(context, picture), { seen: 195, drawn: 80 });
  assert.equal(begun.length, 80);
  assert.equal(Math.min(...begun), 5 + 200 - 80);
});
