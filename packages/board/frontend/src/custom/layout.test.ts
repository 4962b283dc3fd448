import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asLayout, chartFromText, chartToText, matchedTags, patternError, valuesAt } from './layout.ts';

const tags = ['loss', 'loss/a', 'acc', 'layer1/w', 'layer22/w'].map((name) => ({ name }));
const names = (patterns: string[]) => matchedTags(tags, patterns).map((tag) => tag.name);

test('patterns match from the beginning, each tag once', () => {
  assert.deepEqual(names(['acc', 'loss.*', 'loss']), ['acc', 'loss', 'loss/a']);
  assert.deepEqual(names(['layer\\d+/w$', '[broken', 'oss']), ['layer1/w', 'layer22/w']);
});

test('no pattern of a log can block the page, and an invalid one is reported', () => {
  const long = [{ name: `${'a'.repeat(4000)}!` }, { name: 'ab' }];
  for (const evil of ['(a+)+$', '((a|a))*b', '(.*)*x', '(a?a?)+x', '.*.*.*.*.*z']) {
    assert.deepEqual(
      matchedTags(long, [evil]).filter((tag) => tag.name.endsWith('!')),
      [],
      evil,
    );
  }
  assert.deepEqual(matchedTags(long, ['(a?b?)+$']), [{ name: 'ab' }]);
  assert.equal(patternError({ title: '', multiline: { regexes: ['loss.*', '(a|b)/loss'] } }), null);
  assert.match(patternError({ title: '', multiline: { regexes: ['loss.*', '(a)\\1'] } }) ?? '', /escape/);
});

test('bounds are interpolated at the points of the line', () => {
  const found = valuesAt([0, 10, 20], [0, 100, 0], [-1, 0, 5, 10, 15, 20, 21]);
  assert.deepEqual([...found], [Number.NaN, 0, 50, 100, 50, 0, Number.NaN]);
  assert.ok(Number.isNaN(valuesAt([], [], [1])[0]!));
});

test('any JSON is some layout', () => {
  for (const nonsense of [null, 3, 'x', [], { categories: 3 }, { categories: [null, 4, { charts: [7] }] }]) {
    assert.ok(Array.isArray(asLayout(nonsense).categories));
  }
  const layout = asLayout({
    categories: [
      {
        title: 't',
        charts: [{ title: 'c', multiline: { regexes: ['a', 5] } }, { margin: { series: [{ value: 'v' }] } }],
      },
    ],
  });
  assert.deepEqual(layout.categories[0]!.charts, [
    { title: 'c', multiline: { regexes: ['a'] } },
    { title: '', margin: { series: [{ value: 'v', lower: '', upper: '' }] } },
  ]);
});

test('a chart survives its text form', () => {
  for (const chart of [
    { title: 'a', multiline: { regexes: ['x.*', 'y'] } },
    { title: 'b', margin: { series: [{ value: 'v', lower: 'l', upper: 'u' }] } },
  ]) {
    assert.deepEqual(chartFromText(chart.title, 'margin' in chart, chartToText(chart)), chart);
  }
});
