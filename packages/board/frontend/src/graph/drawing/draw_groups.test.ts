import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Brush } from './brush.ts';
import { drawTitle } from './draw_groups.ts';

/** Where the texts of the title of an opened group end, and where its sign begins. */
function titled(label: string, w: number, k: number, ops: number): { right: number; sign: number } {
  let [right, sign] = [0, Number.POSITIVE_INFINITY];
  let [size, bold] = [12, 1];
  const width = (text: string) => 7 * text.length;
  const s = {
    fillText: (text: string, x: number) => {
      right = Math.max(right, x + (width(text) * size * bold) / 12);
    },
    fillRect: (x: number) => {
      sign = Math.min(sign, x);
    },
    beginPath() {},
    roundRect() {},
    fill() {},
    moveTo() {},
    lineTo() {},
    stroke() {},
  };
  const brush = {
    s,
    k,
    box: () => [100, 100, w, 300],
    setFont: (px: number, weight = 400) => {
      [size, bold] = [px, weight > 400 ? 1.09 : 1];
    },
    job: {
      indexed: { scene: { item: [0], depth: [1] } },
      model: { size: [ops], opsText: (n: number) => `${n.toLocaleString('en')} ops` },
      paint: { openFill: () => '' },
      inks: {},
      label: () => label,
      textWidth: width,
    },
  } as unknown as Brush;
  drawTitle(brush, 0);
  return { right, sign };
}

test('no text of an opened group lies under the sign that closes it', () => {
  for (const k of [0.55, 0.6, 0.8, 1, 2.5])
    for (const w of [90, 150, 236, 330, 400, 700, 1500])
      for (const label of ['a', 'Mixed_7', 'batch_normalization', 'Exponential_Moving_Average/'.repeat(12)])
        for (const ops of [9, 1_234_567_890]) {
          const { right, sign } = titled(label, w, k, ops);
          assert.ok(Number.isFinite(sign) || right === 0, 'the sign is drawn at these scales');
          assert.ok(right <= Math.min(sign, 100 + w), `${label} at ${k} in ${w}: ${right} ${sign}`);
        }
});

test('the title of an opened group has the room beside its sign, and the count of its ops where it fits', () => {
  const long = titled('x'.repeat(200), 700, 1, 9);
  assert.ok(long.sign - long.right < 30, `${long.sign - long.right} units are left free`);
  assert.ok(titled('conv', 236, 1, 9).right > titled('conv', 236, 0.58, 9).right, 'the count is written');
});
