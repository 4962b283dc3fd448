import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HparamsReply } from '../state/hparams.ts';
import { axisOf, axisTicks, brushPlace, brushText, placeOf, rowsThatMeet, valueAtPlace } from './axis.ts';
import { meets, parseFilter, rangeText, wordsText } from './filter.ts';
import { type Cell, type Column, hasRepeats, sorted, tableOf } from './model.ts';
import { groupStrength, importances, ranks, spearman } from './rank_correlation.ts';

const column = (id: string, cells: Cell[], kind: Column['kind'] = 'number'): Column => ({
  id,
  title: id,
  description: '',
  role: id.startsWith('m') ? 'metric' : 'param',
  kind,
  cells,
});

test('ranks share what is equal', () => {
  assert.deepEqual(ranks([10, 30, 20, 30]), [1, 3.5, 2, 3.5]);
});

test('rank correlation sees order, whatever the shape', () => {
  assert.equal(spearman([1, 2, 3, 4], [1, 10, 100, 1000]), 1);
  assert.ok(Math.abs(spearman([1, 2, 3, 4], [9, 5, 4, -2]) + 1) < 1e-12);
  // scipy.stats.spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) = 0.8207826816681233
  assert.ok(Math.abs(spearman([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) - 0.8207826816681233) < 1e-12);
  assert.ok(Number.isNaN(spearman([1, 1, 1], [1, 2, 3])));
});

test('a word explains a metric as far as its groups lie apart', () => {
  // ranks 1 to 6: 13.5 of 17.5 is between the groups
  const exact = Math.sqrt(1 - (4 / 17.5) * (5 / 4));
  const found = groupStrength(['a', 'a', 'a', 'b', 'b', 'b'], [1, 2, 3, 10, 11, 12]);
  assert.ok(Math.abs(found - exact) < 1e-12);
  assert.ok(groupStrength(['a', 'b', 'a', 'b', 'a', 'b'], [1, 2, 5, 4, 3, 6]) < 0.5);
  assert.ok(Number.isNaN(groupStrength(['a', 'b', 'c'], [1, 2, 3])));
});

test('importance is in order of strength and leaves out what does not vary', () => {
  const metric = column('m:acc', [1, 2, 3, 4, Number.NaN, null]);
  const found = importances(
    [
      column('p:fixed', [1, 1, 1, 1, 1, 1]),
      column('p:noise', [2, 4, 1, 3, 0, 0]),
      column('p:rate', [8, 6, 4, 2, 99, 99]),
    ],
    metric,
  );
  assert.deepEqual(
    found.map(({ param, sign, pairs }) => [param, sign, pairs]),
    [
      ['p:rate', -1, 4],
      ['p:noise', 1, 4],
    ],
  );
  assert.equal(found[0]!.strength, 1);
});

test('filters are read as people write them', () => {
  const yes = (text: string, cell: Cell) => meets(parseFilter(text)!, cell);
  assert.ok(yes('0.1..0.5', 0.1) && yes('0.1..0.5', 0.5) && !yes('0.1..0.5', 0.6));
  assert.ok(yes('..1e-3', 0.001) && yes('2..', 2) && !yes('>2', 2) && yes('>= 2', 2) && yes('=3', 3));
  assert.ok(yes('adam|sgd', 'SGD') && !yes('"adam"', 'adamw') && yes('"adam"', 'adam') && yes('true', true));
  assert.ok(!yes('>1', null) && !yes('>1', 'x') && !yes('>1', Number.NaN));
  assert.equal(parseFilter('  '), null);
});

test('the text of a brush lets through what was brushed', () => {
  for (const [lo, hi] of [
    [0.00123456, 0.1],
    [123456.7, 123457.2],
    [-5, -4.99999],
  ] as const) {
    const filter = parseFilter(rangeText(lo, hi))!;
    assert.ok(meets(filter, lo) && meets(filter, hi), rangeText(lo, hi));
    assert.ok(!meets(filter, hi + (hi - lo) * 0.01), rangeText(lo, hi));
  }
  assert.equal(rangeText(-Infinity, 3), '..3');
});

test('an axis places values, and a brush on it survives its text form', () => {
  const axis = axisOf(column('p:rate', [1e-4, 1e-2, 1e-1]));
  assert.equal(axis.log, true);
  assert.ok(Math.abs(placeOf(axis, 1e-2)! - 2 / 3) < 1e-12);
  const text = brushText(axis, 0.25, 0.75);
  const back = brushPlace(axis, text)!;
  assert.ok(Math.abs(back[0] - 0.25) < 0.02 && Math.abs(back[1] - 0.75) < 0.02, text);
  assert.equal(brushText(axis, 0, 1), '');
  assert.equal(axisOf(column('p:rate', [1e-4, 1]), true).log, false);
  assert.ok(Math.abs(valueAtPlace(axis, 2 / 3) - 1e-2) < 1e-9);
  assert.deepEqual(
    axisTicks(axis, 5).map((t) => t.label),
    ['0.0001', '0.01', '0.1'],
  );
});

test('few values of a hyperparameter are the ticks of its axis; many, or those of a metric, are not', () => {
  const ticks = (id: string, cells: number[]) => axisTicks(axisOf(column(id, cells)), 5).map((t) => t.label);
  assert.deepEqual(ticks('p:units', [32, 64, 128, 64, 32]), ['32', '64', '128']);
  assert.deepEqual(ticks('p:batch', [48, 32, 20]), ['20', '32', '48']);
  assert.notDeepEqual(ticks('m:loss', [32, 64, 128]), ['32', '64', '128']);
  assert.ok(
    ticks(
      'p:rate',
      Array.from({ length: 40 }, (_, i) => 1 + i / 7),
    ).length < 12,
  );
  assert.notDeepEqual(ticks('p:near', [1, 1.001, 2]), ['1', '1.001', '2'], 'labels would lie on each other');
});

test('an axis of words is brushed by words', () => {
  const axis = axisOf(column('p:opt', ['sgd', 'adam', null, 'sgd', 'lamb'], 'string'));
  assert.deepEqual(axis.words, ['adam', 'lamb', 'sgd']);
  const text = brushText(axis, 0, 0.5);
  assert.equal(text, '"adam"|"lamb"');
  assert.deepEqual(brushPlace(axis, text), [0, 2 / 3]);
  assert.equal(placeOf(axis, null), null);
});

test('rows meet all filters, and unknown columns do not count', () => {
  const columns = [column('p:a', [1, 2, 3]), column('p:b', ['x', 'y', 'x'], 'string')];
  assert.deepEqual(rowsThatMeet(columns, { 'p:a': '>1', 'p:b': 'x', 'p:gone': '>9' }, 3), [2]);
  assert.deepEqual(rowsThatMeet([column('p:constructor', [1])], {}, 1), [0]);
});

test('sorting keeps empty cells last both ways', () => {
  const cells = [2, null, 10, Number.NaN, 1];
  assert.deepEqual(sorted([0, 1, 2, 3, 4], cells, false), [4, 0, 2, 1, 3]);
  assert.deepEqual(sorted([0, 1, 2, 3, 4], cells, true), [2, 0, 4, 1, 3]);
});

test('the table has a column for each parameter and metric', () => {
  const table = tableOf(
    {
      params: [
        { name: 'same', kind: 'number', display: '', description: '' },
        { name: 'rate', kind: 'string', display: 'Rate', description: 'd' },
      ],
      metrics: [
        { key: '7/eval', tag: 7, name: 'loss', display: '', group: 'eval', description: 'of held-out data' },
        { key: '', tag: null, name: 'never', display: '', group: '', description: '' },
        { key: '', tag: null, name: 'nor', display: '', group: '', description: '' },
      ],
      sessions: [
        {
          run: 1,
          group: '',
          values: { rate: 1, same: 5 },
          status: 's',
          start: null,
          end: null,
          metrics: { '7/eval': { last: 1, min: 0, max: 2 } },
        },
        { run: 2, group: '', values: { rate: 2, same: 5 }, status: 's', start: null, end: null, metrics: {} },
      ],
    },
    (id) => `run${id}`,
    'max',
  );
  assert.deepEqual(
    table.columns.map((c) => [c.id, c.title, c.kind]),
    [
      ['p:rate', 'Rate', 'number'],
      ['p:same', 'same', 'number'],
      ['m:eval/loss', 'eval/loss', 'number'],
      ['m:never', 'never', 'number'],
      ['m:nor', 'nor', 'number'],
    ],
  );
  assert.deepEqual(table.columns[2]!.cells, [2, null]);
  assert.deepEqual(table.names, ['run1', 'run2']);
});

test('repeats of a session are one row with the means of their metrics', () => {
  const session = (
    run: number,
    group: string,
    rate: number,
    loss: number | null,
  ): HparamsReply['sessions'][number] => ({
    run,
    group,
    values: { rate, seed: run },
    status: run === 3 ? 'running' : 'success',
    start: null,
    end: null,
    metrics: loss === null ? {} : { 7: { last: loss, min: 0, max: 9 } },
  });
  const param = (name: string) => ({ name, kind: 'number' as const, display: '', description: '' });
  const reply = {
    params: [param('rate'), param('seed')],
    metrics: [{ key: '7', tag: 7, name: 'loss', display: '', group: '', description: '' }],
    sessions: [
      session(1, 'a', 0.1, 2),
      session(2, '', 0.2, 5),
      session(3, 'a', 0.1, 4),
      session(4, 'b', 0.3, null),
      session(5, '', 0.2, 6),
    ],
  };
  const table = tableOf(reply, (id) => `run${id}`, 'last', true);
  assert.deepEqual(table.names, ['a', 'run2', 'run4', 'run5']);
  assert.deepEqual(table.members, [[1, 3], [2], [4], [5]]);
  assert.deepEqual(table.status[0], 'success, running');
  assert.deepEqual(
    table.columns.map((c) => [c.id, c.cells]),
    [
      ['p:rate', [0.1, 0.2, 0.3, 0.2]],
      ['p:seed', [null, 2, 4, 5]],
      ['m:loss', [3, 5, null, 6]],
    ],
  );
  assert.equal(tableOf(reply, (id) => `run${id}`, 'last').names.length, 5);
  assert.ok(hasRepeats(reply) && !hasRepeats({ ...reply, sessions: reply.sessions.slice(0, 2) }));
});

test('a filter of words matches exactly these words, whatever they contain', () => {
  const words = ['a|b', 'c', 'd..e', '<3'];
  const filter = parseFilter(wordsText(words))!;
  for (const word of words) assert.ok(meets(filter, word), word);
  for (const other of ['a', 'b', 'cc', 'a|b|c', '']) assert.ok(!meets(filter, other), other);
  assert.ok(meets(parseFilter('x | "a|b"')!, 'a|b'));
});
