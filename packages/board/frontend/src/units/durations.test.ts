import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, duration, microsecondsText, playerTime, shortDuration } from './durations.ts';

test('a duration never shows a whole unit as the smaller part', () => {
  assert.equal(duration(7199.9), '2 h');
  assert.equal(duration(3599.9), '1 h');
  assert.equal(duration(86399.9), '1 d');
  assert.equal(duration(119.9), '2 min');
  assert.equal(duration(3630), '1 h 1 min');
  assert.equal(duration(5400), '1 h 30 min');
  assert.deepEqual([0, -90, 12.3456].map(duration), ['0', '−1 min 30 s', '12.346 s']);
});

test('a short duration has three significant digits below a minute, and two units above', () => {
  const texts = [2e-9, 1.5e-6, 0.0002, 0.25, 0, 3.25, 61, 3600, 90_000, -75].map(shortDuration);
  assert.deepEqual(texts, [
    '2 ns',
    '1.5 µs',
    '200 µs',
    '250 ms',
    '0 s',
    '3.25 s',
    '1 min 1 s',
    '1 h',
    '1 d 1 h',
    '−1 min 15 s',
  ]);
  assert.equal(microsecondsText(5000), '5 ms');
});

test('an age is one number with its unit', () => {
  assert.deepEqual([0.42, 15.4, 150, 10_000].map(age), ['0.4 s', '15 s', '3 min', '3 h']);
});

test('a position is written as players write it', () => {
  assert.deepEqual([0, 3.25, 59.97, 3727, Number.NaN].map(playerTime), [
    '0:00.0',
    '0:03.3',
    '1:00.0',
    '1:02:07.0',
    '–',
  ]);
});

test('a duration of no sense has few digits', () => {
  for (const text of [duration(1e300), shortDuration(1e300), duration(-1e300), age(1e300)]) {
    assert.ok(text.length < 16, text);
  }
});
