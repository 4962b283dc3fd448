import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count, counted, percent, precisePercent, prefixedNumber, shortNumber } from './numbers.ts';

test('numbers are as short as their digits allow', () => {
  assert.equal(shortNumber(0.1), '0.1');
  assert.equal(shortNumber(123456.789), '123457');
  assert.equal(shortNumber(-1e-7), '−1e−7');
  assert.equal(shortNumber(Number.NaN), 'NaN');
  assert.equal(shortNumber(12345678), '1.2346e7');
  assert.equal(shortNumber(-Infinity), '−Inf');
});

test('numbers with SI prefixes are short and still right', () => {
  const numbers = [0, 0.1, -1.25, 1234, 12_000, 1.5e6, 3e12, 2.5e-7, 1e300, -Infinity, Number.NaN];
  assert.deepEqual(numbers.map(prefixedNumber), [
    '0',
    '0.1',
    '−1.25',
    '1234',
    '12k',
    '1.5M',
    '3T',
    '2.5e−7',
    '1e+300',
    '−∞',
    'NaN',
  ]);
});

test('counts have their thousands apart and their noun in the right number', () => {
  assert.equal(count(1234567), '1,234,567');
  assert.deepEqual(
    [counted(1, 'run'), counted(2000, 'run'), counted(0, 'index', 'indices')],
    ['1 run', '2,000 runs', '0 indices'],
  );
});

test('percentages below ten have a decimal', () => {
  assert.deepEqual([0, 0.004, 0.0999, 0.5, 1].map(percent), ['0 %', '0.4 %', '10 %', '50 %', '100 %']);
  assert.deepEqual([0.0123, 0.456].map(precisePercent), ['1.23 %', '45.6 %']);
});

test('huge counts have few digits', () => {
  assert.equal(count(1e300), '1e300');
  assert.equal(count(2 ** 62), '4.6117e18');
  assert.equal(count(1234567), '1,234,567');
});
