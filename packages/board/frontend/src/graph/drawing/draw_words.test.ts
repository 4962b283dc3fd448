import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GROUP } from '../scene/scene.ts';
import type { Brush } from './brush.ts';
import { drawWords } from './draw_words.ts';

interface Written {
  text: string;
  left: number;
  right: number;
}

/** What is written on a closed group of a width, and where its sign begins. */
function written(label: string, w: number, k: number, opsBelow: number): { texts: Written[]; sign: number } {
  const texts: Written[] = [];
  let sign = Number.POSITIVE_INFINITY;
  let [size, bold] = [12, 1];
  const width = (text: string) => 7 * text.length;
  const s = {
    fillText: (text: string, x: number) =>
      texts.push({ text, left: x, right: x + (width(text) * size * bold) / 12 }),
    roundRect: (x: number) => {
      sign = Math.min(sign, x);
    },
    beginPath() {},
    moveTo() {},
    lineTo() {},
    stroke() {},
  };
  const brush = {
    s,
    k,
    setFont: (px: number, weight = 400) => {
      [size, bold] = [px, weight > 400 ? 1.05 : 1];
    },
    job: {
      model: { size: [opsBelow], opsText: (n: number) => `${n} ops` },
      inks: {},
      label: () => label,
      textWidth: width,
    },
  } as unknown as Brush;
  drawWords(brush, 0, GROUP, 100, 100, w, 40);
  return { texts, sign };
}

test('no text of a closed group lies under the sign that opens it', () => {
  for (const k of [0.55, 0.58, 0.7, 1, 1.4, 2.5])
    for (const w of [60, 77, 90, 120, 200, 236])
      for (const label of ['a', 'Mixed_7', 'batch_normalization', 'ExponentialMovingAverage_with_more']) {
        const { texts, sign } = written(label, w, k, 1_234_567_890);
        if (k >= 0.8) assert.ok(Number.isFinite(sign), 'the sign is drawn at these scales');
        for (const { text, right } of texts)
          assert.ok(right <= Math.min(sign, 100 + w), `${text} at ${k} in ${w}: ${right} ${sign}`);
      }
});

test('where a box is small, its name comes before its sign', () => {
  const small = written('block_13', 92, 0.6, 9);
  assert.equal(small.texts[0]!.text, 'block_13');
  assert.ok(!Number.isFinite(small.sign));
  assert.ok(Number.isFinite(written('conv', 92, 0.6, 9).sign));
});
