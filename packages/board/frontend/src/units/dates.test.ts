import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactWallTime, localDate, wallTime } from './dates.ts';

test('a wall time is in the time zone of the reader', () => {
  const before = process.env.TZ;
  process.env.TZ = 'Asia/Kolkata';
  try {
    assert.equal(wallTime(1_700_000_000.25), '2023-11-15 03:43:20');
    assert.equal(exactWallTime(1_700_000_000.25), '2023-11-15 03:43:20.25 GMT+5:30');
    assert.equal(wallTime(Number.NaN), 'NaN');
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
});

test('the wall time of a broken clock has few digits and is no invalid date', () => {
  for (const text of [wallTime, exactWallTime, localDate].map((write) => write(1e300)))
    assert.equal(text, '1e300');
});
