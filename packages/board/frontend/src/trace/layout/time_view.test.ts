import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clamped,
  fitAll,
  fitRange,
  formatView,
  LEAST_SPAN,
  panBy,
  parseView,
  reveal,
  spanOf,
  timeAt,
  zoomAbout,
} from './time_view.ts';

const DURATION = 1_000_000;

test('zooming keeps the time under the cursor where it is', () => {
  let view = { t0: 200_000, t1: 400_000 };
  for (const factor of [0.5, 0.8, 1.25, 2, 0.1]) {
    const at = timeAt(view, 1000, 370);
    const next = zoomAbout(view, at, factor, DURATION);
    assert.ok(Math.abs(timeAt(next, 1000, 370) - at) < 1e-6);
    assert.ok(Math.abs(spanOf(next) / spanOf(view) - factor) < 1e-9);
    view = next;
  }
});

test('a zoom stays between the clock resolution and the step with a margin', () => {
  let view = fitAll(DURATION);
  for (let i = 0; i < 200; i++) view = zoomAbout(view, 123_456, 0.7, DURATION);
  assert.ok(Math.abs(spanOf(view) - LEAST_SPAN) < 1e-6);
  for (let i = 0; i < 200; i++) view = zoomAbout(view, 123_456, 1.5, DURATION);
  assert.ok(spanOf(view) <= DURATION * 1.1 + 1e-6);
});

test('a pan stops at the ends and keeps the span', () => {
  const view = { t0: 100, t1: 1100 };
  for (const by of [-1e9, 1e9, 50]) {
    const next = panBy(view, by, DURATION);
    assert.ok(Math.abs(spanOf(next) - 1000) < 1e-9);
    assert.ok(next.t0 >= -0.05 * DURATION - 1e-9 && next.t1 <= 1.05 * DURATION + 1e-9);
  }
  assert.deepEqual(clamped({ t0: 5, t1: 10 }, DURATION), { t0: 5, t1: 10 });
});

test('a fitted range lies in the middle', () => {
  const view = fitRange(400_000, 480_000, DURATION);
  assert.ok(Math.abs(view.t0 + view.t1 - 880_000) < 1e-6);
  assert.ok(Math.abs(spanOf(view) - 100_000) < 1e-6);
  assert.ok(spanOf(fitRange(7, 7, DURATION)) >= LEAST_SPAN);
});

test('revealing a visible range moves nothing; a hidden one comes into view at the same zoom', () => {
  const view = { t0: 1000, t1: 2000 };
  assert.equal(reveal(view, 1200, 1300, DURATION), view);
  const moved = reveal(view, 5000, 5100, DURATION);
  assert.ok(moved.t0 < 5000 && moved.t1 > 5100 && Math.abs(spanOf(moved) - 1000) < 1e-9);
  assert.ok(spanOf(reveal(view, 0, 50_000, DURATION)) > 50_000);
});

test('a view comes back from its text', () => {
  assert.deepEqual(parseView(formatView({ t0: -12.5, t1: 99 })), { t0: -12.5, t1: 99 });
  assert.equal(parseView(''), null);
  for (const wrong of ['1', '2~1', 'a~b', '1~2~3', '1~Infinity']) assert.equal(parseView(wrong), undefined);
});
