import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileSize, memorySize } from './bytes.ts';

test('files are measured in powers of 1000', () => {
  const texts = [0, 999, 1500, 999_600, 3.2e9, 5e15].map(fileSize);
  assert.deepEqual(texts, ['0 B', '999 B', '1.5 KB', '1.0 MB', '3.2 GB', '5000 TB']);
});

test('memory is measured in powers of 1024 with three significant digits', () => {
  const texts = [0, 1023, 8192, 2_043_000, 1023.6 * 1024, 1.5 * 2 ** 30, -3 * 2 ** 20].map(memorySize);
  assert.deepEqual(texts, ['0 B', '1023 B', '8 KiB', '1.95 MiB', '1 MiB', '1.5 GiB', '-3 MiB']);
});
