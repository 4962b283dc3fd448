import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waveform } from './waveform.ts';

test('no peak is lost, however few columns', () => {
  const samples = new Float32Array(10_007);
  samples[6001] = 1;
  samples[6002] = -0.5;
  for (const columns of [1, 7, 500]) {
    const { low, high } = waveform(samples, columns);
    assert.equal(Math.max(...high), 1);
    assert.equal(Math.min(...low), -0.5);
  }
});

test('fewer samples than columns are held', () => {
  assert.deepEqual([...waveform(Float32Array.of(1, -1), 4).high], [1, 1, -1, -1]);
  assert.deepEqual([...waveform(new Float32Array(0), 2).low], [0, 0]);
});
