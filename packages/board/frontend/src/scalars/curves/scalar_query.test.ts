import assert from 'node:assert/strict';
import { test } from 'node:test';
import '../../testing/page_stub.ts';
import type { Run, Tag } from '../../api/types.ts';
import type { LoadedCurve } from './curve_loader.ts';

const { runs, tags } = await import('../../state/catalogue.ts');
const query = await import('./scalar_query.ts');
const { parseStyle, setCardStyle, styleItem, styleOfCard } = await import('../settings/card_style.ts');
const view = await import('../settings/chart_settings.ts');
const { styleOf } = await import('../../runs/colours.ts');
const grouping = await import('../../runs/grouping.ts');
const { tagsOfPart } = await import('../settings/curve_part.ts');

const HOSTILE = ['loss', 'a=b', 'z=1:2', 'made:=a/b', 'x;y:1', '', '__proto__'];
const tag = (name: string, id = 0): Tag => ({
  id,
  name,
  kind: 'scalar',
  plugin: '',
  display: '',
  description: '',
});

test('zooms and styles belong to their card, whatever its name', () => {
  HOSTILE.forEach((card, i) => {
    query.setZoom(card, { x: [i, i + 10], y: i % 2 ? [-1e-7, 3] : null });
    setCardStyle(card, { y: 'log', lo: i + 1, smooth: 0.5, out: i % 2 === 0 });
  });
  HOSTILE.forEach((card, i) => {
    assert.deepEqual(query.zoomOf(card), { x: [i, i + 10], y: i % 2 ? [-1e-7, 3] : null }, card);
    assert.deepEqual(styleOfCard(card), { y: 'log', lo: i + 1, smooth: 0.5, out: i % 2 === 0 }, card);
  });
  for (const card of HOSTILE) {
    query.setZoom(card, null);
    setCardStyle(card, {});
  }
  assert.deepEqual([view.zooms.value, view.cardStyles.value], [[], []]);
});

test('nonsense in a style leaves the settings of the page', () => {
  for (const text of ['y:cubic', 'lo:', 'hi:x', 's:1', 's:-1', 'out:2', '', 'y', 'lo:Infinity']) {
    assert.deepEqual(parseStyle(`card=${text}`), { card: 'card', style: {} }, text);
  }
  assert.equal(styleItem('card', {}), null);
});

test('queries are of the runs or of their groups, and expressions join by the last value', () => {
  runs.value = ['s/1', 's/2', 't/1'].map((name, id) => ({ id, name, segments: 1 }) as Run);
  const part = { tag: tag('loss', 7), right: false };
  const settings = query.curveSettings();
  const plain = query.queryOf(part, runs.value, null, settings, [1, 2], 100);
  assert.deepEqual([plain.tag, plain.runs, plain.lo, plain.hi, plain.group], [7, [0, 1, 2], 1, 2, null]);
  grouping.groupBy.value = 'folder';
  const grouped = query.queryOf(part, runs.value, query.groupsOfRuns(runs.value), settings, null, 100);
  assert.deepEqual([grouped.runs, grouped.group?.runs], [undefined, [[0, 1], [2]]]);
  grouping.groupCenter.value = 'each';
  assert.equal(query.groupsOfRuns(runs.value), null);
  grouping.groupBy.value = '';
  grouping.groupCenter.value = 'mean';
  const expression = { text: 'v0/v1', variables: { v0: 7, v1: 8 } };
  const built = query.queryOf({ ...part, expression }, runs.value, null, settings, null, 100);
  assert.deepEqual([built.tag, built.expression, built.join], [undefined, 'v0/v1', 'last']);
  assert.deepEqual(tagsOfPart({ ...part, expression }), [7, 8]);
});

test('a chart draws no more lines than it can, of groups those of a thousand runs', () => {
  const many = Array.from({ length: 1500 }, (_, id) => ({ id, name: `r${id}`, segments: 1 }) as Run);
  assert.deepEqual(
    [1, 4, 20].map((parts) => query.drawnRuns(many, parts).length),
    [500, 500, 100],
  );
  grouping.groupBy.value = 'all';
  assert.equal(query.drawnRuns(many, 1).length, 1000);
  grouping.groupBy.value = '';
});

test('each run has its colour, and where only tags differ each tag has', () => {
  tags.value = [tag('a', 1), tag('b', 2)];
  runs.value = [{ id: 0, name: 'r', segments: 1 } as Run, { id: 1, name: 'q', segments: 1 } as Run];
  const curve = (run: number): LoadedCurve =>
    ({
      run,
      group: null,
      n: 0,
      drawn: 0,
      superseded: 0,
      x: new Float64Array(),
      y: new Float64Array(),
    }) as never;
  const parts = tags.value.map((one) => ({ tag: one, right: false }));
  const nameOf = (id: number) => `run ${id}`;
  const one = query.styledCurves({ lists: [[curve(0)], [curve(0)]], parts, groups: null }, nameOf);
  assert.notEqual(one[0]!.colour, one[1]!.colour);
  const two = query.styledCurves({ lists: [[curve(0), curve(1)], [curve(0)]], parts, groups: null }, nameOf);
  assert.equal(two[0]!.colour, two[2]!.colour);
  assert.notDeepEqual(two[0]!.dash, two[2]!.dash);
  assert.equal(new Set(two.map((c) => c.id)).size, 3);
});

test('a lone curve is solid, also that of a run whose curve is dashed among others', () => {
  runs.value = Array.from({ length: 40 }, (_, id) => ({ id, name: `run ${id}`, segments: 1 }) as Run);
  const dashed = runs.value.filter((run) => styleOf(run.id).dash.length > 0);
  assert.equal(dashed.length, 20, 'half of forty runs are dashed');
  const points = { n: 0, drawn: 0, superseded: 0, x: new Float64Array(), y: new Float64Array() };
  const curve = (run: Run): LoadedCurve => ({ run: run.id, group: null, ...points }) as never;
  const parts = [{ tag: tag('a', 1), right: false }];
  const dashes = (shown: Run[]) =>
    query
      .styledCurves({ lists: [shown.map(curve)], parts, groups: null }, (id) => `run ${id}`)
      .map((one) => one.dash.length > 0);
  assert.deepEqual(dashes(dashed.slice(0, 2)), [true, true]);
  assert.deepEqual(dashes(dashed.slice(0, 1)), [false]);
});
