import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvCell, fileName } from '../picture/download.ts';
import { bucketsCsv, rawBucketsCsv, tableJson } from './histogram_export.ts';

const layers = [
  {
    run: 1,
    name: '=evil,"run"',
    colour: '#000',
    table: {
      rows: 1,
      bins: 2,
      total: 7,
      steps: Float64Array.of(3),
      walls: Float64Array.of(10.5),
      edges: Float64Array.of(0, 1, 2),
      counts: Float64Array.of(4, 5),
      percentiles: new Float64Array(9),
      sums: Float64Array.of(9),
    },
  },
];

test('each bucket is a line, and no cell is a formula', () => {
  const lines = bucketsCsv(layers).trim().split('\n');
  assert.deepEqual(lines.slice(1), [`"'=evil,""run""",3,10.5,0,1,4`, `"'=evil,""run""",3,10.5,1,2,5`]);
  assert.equal(csvCell('plain'), 'plain');
});

test('JSON holds the whole table', () => {
  const document = JSON.parse(tableJson('w', layers));
  assert.deepEqual(document.runs[0].rows[0].counts, [4, 5]);
  assert.equal(document.runs[0].total_rows, 7);
});

test('file names hold no path', () => {
  assert.equal(fileName('../../etc/pass wd.csv'), 'etc_pass_wd.csv');
  assert.equal(fileName('<>.svg'), 'board.svg');
});

test('raw buckets are a line each, and what cannot be read has none', () => {
  const rows = [
    { step: 1, wall_time: 2.5, left: [0, 1], right: [1, 4], count: [7, 8] },
    { step: 2, wall_time: 3.5, error: 'the record is corrupted' },
  ];
  assert.deepEqual(
    rawBucketsCsv([{ run: 'a,b', rows }])
      .trim()
      .split('\n'),
    ['run,step,wall_time,bucket_from,bucket_to,count', '"a,b",1,2.5,0,1,7', '"a,b",1,2.5,1,4,8'],
  );
});
