import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactNanoseconds, momentInSpan, nanosecondsText } from './nanoseconds.ts';

test('durations have three significant digits', () => {
  const texts = [0, 1, 999, 1000, 12_345, 999_600, 5_000_000, 229_934_910, 1.5e9];
  assert.deepEqual(texts.map(nanosecondsText), [
    '0 ns',
    '1 ns',
    '999 ns',
    '1.00 µs',
    '12.3 µs',
    '1.00 ms',
    '5.00 ms',
    '230 ms',
    '1.50 s',
  ]);
  assert.equal(exactNanoseconds(1234567), '1 234 567 ns');
});

test('a point in time has as many digits as its window resolves', () => {
  assert.equal(momentInSpan(205_412_345, 466_000), '205.4123 ms');
  assert.equal(momentInSpan(205_412_345, 230e6), '205.4 ms');
  assert.equal(momentInSpan(1234, 10), '1.234 µs');
  assert.equal(momentInSpan(0, 1e9), '0 ns');
});
