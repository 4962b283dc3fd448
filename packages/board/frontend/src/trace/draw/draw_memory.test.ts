import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawMemory } from './draw_memory.ts';
import type { Context, TimelineScene } from './timeline_scene.ts';

test('a memory curve continues to the end of its step', () => {
  const xs: number[] = [];
  const context = new Proxy(
    {},
    {
      get: (_, name) =>
        name === 'lineTo' || name === 'moveTo' ? (x: number) => xs.push(x) : () => undefined,
      set: () => true,
    },
  ) as unknown as Context;
  const picture = { view: { t0: 0, t1: 1000 }, width: 1000, ink: {} } as unknown as TimelineScene;
  const curve = {
    name: 'cpu',
    task: '',
    source: 'records' as const,
    peak: 8,
    peak_ns: 2000,
    n: 1,
    time: Float64Array.of(100),
    bytes: Float64Array.of(8),
  };
  for (const duration of [300, 900]) {
    xs.length = 0;
    drawMemory(context, picture, curve, duration, 0, 40);
    assert.equal(Math.max(...xs), duration);
  }
});
