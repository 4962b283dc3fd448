import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run, Tag } from '../api/types.ts';
import { bootOf, newRuns, newSeries } from './catalogue_update.ts';
import { type TagsReply, tagsReplyOf } from './tags_reply.ts';

const run = (id: number, name: string): Run => ({
  id,
  name,
  folder: '',
  start: 0,
  last_wall: 0,
  live: false,
  segments: 1,
  problems: 0,
});
const tag = (id: number): Tag => ({
  id,
  name: `t${id}`,
  kind: 'scalar',
  plugin: '',
  display: '',
  description: '',
});

/** A reply with rows of tag, run and n. */
function reply(rows: [number, number, number][], more: Partial<TagsReply> = {}): TagsReply {
  const u32 = (values: number[]) => Uint32Array.from(values);
  const zeros = u32(rows.map(() => 0));
  const columns = {
    tag_id: u32([]),
    tag: u32(rows.map((r) => r[0])),
    run: u32(rows.map((r) => r[1])),
    n: u32(rows.map((r) => r[2])),
    first_step: zeros,
    last_step: BigInt64Array.from(rows.map(() => 5n)),
    first_wall: zeros,
    last_wall: zeros,
    last: Float64Array.from(rows.map(() => Number.NaN)),
    min: zeros,
    max: zeros,
    nan: zeros,
  };
  const header = { names: [], texts: [''], gone: { tag: [], run: [] }, mark: 'b.1', whole: false };
  return { ...tagsReplyOf({ header, columns }), ...more };
}
const nothing = { tags: [], series: [] };
const both = [run(1, 'a'), run(0, 'b')];
const first = () =>
  newSeries(
    nothing,
    reply(
      [
        [0, 0, 1],
        [0, 1, 2],
        [1, 1, 3],
      ],
      { whole: true, tags: [tag(0), tag(1)] },
    ),
    both,
    [],
  );

test('runs that changed take the place of the old, the others stay the same objects', () => {
  const grown = run(1, 'a');
  const after = newRuns(both, { runs: [grown, run(2, 'ab')], gone: [], mark: 'b.2', whole: false });
  assert.deepEqual(
    after.map((r) => r.id),
    [1, 2, 0],
  );
  assert.equal(after[0], grown);
  assert.equal(after[2], both[1]);
  assert.equal(newRuns(both, { runs: [], gone: [], mark: 'b.2', whole: false }), both);
  assert.deepEqual(newRuns(both, { runs: [], gone: [1], mark: 'b.2', whole: false }), [both[1]]);
  assert.deepEqual(newRuns(both, { runs: [], gone: [], mark: 'c.1', whole: true }), []);
});

test('series are ordered by run and tag; without changes the result is the same object', () => {
  const known = first();
  assert.deepEqual(
    known.series.map((s) => [s.run, s.tag, s.n]),
    [
      [1, 0, 2],
      [1, 1, 3],
      [0, 0, 1],
    ],
  );
  assert.ok(Number.isNaN(known.series[0]!.last));
  assert.equal(newSeries(known, reply([]), both, []), known);
});

test('one series that grew leaves the others and the tags as they are', () => {
  const known = first();
  const after = newSeries(known, reply([[0, 1, 9]]), both, []);
  assert.equal(after.tags, known.tags);
  assert.equal(after.series[0]!.n, 9);
  assert.equal(after.series[1], known.series[1]);
  assert.equal(after.series[2], known.series[2]);
});

test('a tag is removed with its last series, and with its last run', () => {
  const known = first();
  const emptied = newSeries(known, reply([], { gone: { tag: [1], run: [1] } }), both, []);
  assert.deepEqual(
    emptied.tags.map((t) => t.id),
    [0],
  );
  const gone = newSeries(known, reply([]), [both[1]!], [1]);
  assert.deepEqual(
    gone.series.map((s) => [s.run, s.tag]),
    [[0, 0]],
  );
  assert.deepEqual(
    gone.tags.map((t) => t.id),
    [0],
  );
});

test('a series that is received before its run is kept', () => {
  const early = newSeries(first(), reply([[1, 7, 4]]), both, []);
  assert.equal(early.series.at(-1)!.run, 7);
  const later = newSeries(early, reply([[0, 1, 5]]), [run(7, 'A'), ...both], []);
  assert.deepEqual(
    later.series.map((s) => s.run),
    [7, 1, 1, 0],
  );
});

test('a mark names its process', () => {
  assert.equal(bootOf('3fa2.17'), '3fa2');
});
