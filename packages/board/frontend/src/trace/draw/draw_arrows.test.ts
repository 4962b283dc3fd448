import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOutRows, UNCHANGED } from '../layout/rows.ts';
import { drawArrows } from './draw_arrows.ts';
import type { Context, TimelineScene } from './timeline_scene.ts';

/** Draws the arrows of two threads. Returns: what was counted, and the ends and colours of the curves. */
function drawn(summary: object): { counts: object; ends: number[]; colours: string[] } {
  const ends: number[] = [];
  const colours: string[] = [];
  let colour = '';
  const context = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === 'measureText') return () => ({ width: 50 });
        if (name !== 'bezierCurveTo') return () => undefined;
        return (...at: number[]) => {
          ends.push(at[4]!);
          colours.push(colour);
        };
      },
      set: (_, name, value) => {
        if (name === 'strokeStyle') colour = value;
        return true;
      },
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
  const rows = layOutRows([{ trace: 1, title: '', duration: 300, lanes, memory: [] }], UNCHANGED, false);
  const picture = {
    view: { t0: 0, t1: 300 },
    width: 300,
    height: 200,
    scroll: 0,
    rows,
    ink: { error: 'red', soft: 'grey' },
    sections: [{ summary }],
  } as unknown as TimelineScene;
  return { counts: drawArrows(context, picture), ends, colours };
}

const transfer = (to_slice: number) => ({
  name: '',
  from_slice: 0,
  from_lane: 0,
  from: 0,
  to_slice,
  to_lane: 1,
  to: 5 + to_slice,
  bytes: 0,
  direct: false,
});

test('the longest of many arrows are drawn, and all are counted', () => {
  const { counts, ends } = drawn({
    transfers: Array.from({ length: 200 }, (_, i) => transfer(i)),
    stalls: [],
  });
  // Five are too short to be arrows.
  assert.deepEqual(counts, { seen: 195, drawn: 80 });
  assert.equal(ends.length, 80);
  assert.equal(Math.min(...ends), 5 + 200 - 80);
});

test('a long wait has an arrow in the colour of errors, a busy thread has none', () => {
  const stall = (kind: string) => ({
    kind,
    begin: 20,
    wait_ns: 100,
    from: null,
    to: { slice: 150, lane: 1, node: 'a', start: 120, dur: 10 },
  });
  assert.deepEqual(drawn({ transfers: [transfer(150)], stalls: [stall('receive')] }).colours, ['red']);
  assert.deepEqual(drawn({ transfers: [transfer(150)], stalls: [stall('queue')] }).colours, ['grey']);
});
