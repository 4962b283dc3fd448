import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import '../../testing/page_stub.ts';
import type { Kind, Run, Tag } from '../../api/types.ts';

const { loaded, runs, series, tags } = await import('../../state/catalogue.ts');
const { cardCount, emptyCount, filterError, matchedCount, sections } = await import('./card_list.ts');
const { runChoice } = await import('../../state/selection.ts');
const { everyRun, only } = await import('../../state/run_choice.ts');
const { dropCard } = await import('./drop_card.ts');
const { isOnRight, removeOverlay, setAxis } = await import('../../scalars/settings/overlays.ts');
const { removeCustomChart } = await import('../../scalars/settings/custom_charts.ts');
const { kindFilter, showsEmpty, tagFilter } = await import('./grid_address.ts');
const { customCharts, overlays } = await import('../../scalars/settings/chart_settings.ts');
const { pinnedCards } = await import('../../cards/card_address.ts');
const { cardKinds } = await import('../../card_kinds.ts');
const { registerCardKinds } = await import('../../cards/registry.ts');
const { list } = await import('../../address/url_codec.ts');

const HOSTILE = [
  'loss',
  'a=b',
  'a',
  'x==y',
  'c\\',
  'c\\=d',
  'p,q',
  '=',
  '__proto__',
  'constructor',
  '\u202eevil',
];

registerCardKinds(cardKinds);

beforeEach(() => {
  tags.value = HOSTILE.map((name, id): Tag => tag(name, id));
  runs.value = [{ id: 0, name: 'run', segments: 1 } as Run];
  series.value = HOSTILE.map((_, id) => ({ tag: id, run: 0, n: 3 }) as (typeof series.value)[number]);
  loaded.value = true;
  for (const items of [overlays, pinnedCards, customCharts]) items.value = [];
  tagFilter.value = '';
  kindFilter.value = '';
});

function tag(name: string, id: number, kind: Kind = 'scalar'): Tag {
  return { id, name, kind, plugin: '', display: '', description: '' };
}
const cards = () => sections.value.flatMap((section) => section.cards);
const card = (id: string) => cards().find((one) => one.id === id)!;
const overlaid = (id: string) => card(id).overlays.map((one) => one.name);
/** As after a reload. */
const reload = () => {
  for (const items of [overlays, customCharts]) items.value = list.decode(list.encode(items.value))!;
};

test('tags of any names share charts, axes and addresses', () => {
  for (const onto of HOSTILE) {
    overlays.value = [];
    const others = HOSTILE.filter((name) => name !== onto);
    for (const name of others) dropCard(name, card(onto));
    dropCard(others[0]!, card(onto));
    reload();
    assert.deepEqual(overlaid(onto), others, onto);
    for (const other of others) assert.deepEqual(overlaid(other), [], `${onto} ${other}`);
    for (const name of others) {
      setAxis(card(onto), name, true);
      reload();
      assert.deepEqual(
        others.filter((one) => isOnRight(onto, one)),
        [name],
      );
      setAxis(card(onto), name, false);
    }
    for (const name of others) removeOverlay(onto, name);
    assert.deepEqual([overlaid(onto), overlays.value], [[], []]);
  }
});

test('a user’s chart accepts drops, has a right axis, and can be removed', () => {
  customCharts.value = ['^(loss|a=b)$', '=loss/{a=b}'];
  const [pattern, formula] = ['made:^(loss|a=b)$', 'made:=loss/{a=b}'];
  dropCard('x==y', card(pattern!));
  dropCard('loss', card(pattern!)); // it has that one
  dropCard('loss', card(formula!));
  reload();
  assert.deepEqual([overlaid(pattern!), overlaid(formula!)], [['x==y'], ['loss']]);
  setAxis(card(pattern!), 'a=b', true);
  assert.ok(isOnRight(pattern!, 'a=b'));
  assert.deepEqual(overlaid(pattern!), ['x==y']);
  setAxis(card(pattern!), 'a=b', false);
  assert.deepEqual(overlays.value.length, 2);
  // A pattern gives its tags to another chart; an expression has none to give.
  dropCard(pattern!, card('p,q'));
  dropCard(formula!, card('='));
  assert.deepEqual([overlaid('p,q').sort(), overlaid('=')], [['a=b', 'loss', 'x==y'], []]);
  removeCustomChart('=loss/{a=b}');
  assert.equal(card(formula!), undefined);
});

test('pinned cards and users’ charts are not counted twice', () => {
  pinnedCards.value = ['loss', 'a'];
  customCharts.value = ['loss|a'];
  tagFilter.value = 'loss';
  assert.deepEqual([matchedCount.value, cardCount.value], [1, HOSTILE.length]);
  tagFilter.value = '';
  assert.deepEqual([matchedCount.value, cardCount.value], [HOSTILE.length, HOSTILE.length]);
});

test('cards are filtered by kind and by pattern, and a wrong pattern hides nothing', () => {
  tags.value = [...tags.value, tag('picture', 50, 'image')];
  series.value = [...series.value, { tag: 50, run: 0, n: 1 } as (typeof series.value)[number]];
  kindFilter.value = 'image';
  assert.deepEqual(
    cards().map((one) => one.name),
    ['picture'],
  );
  kindFilter.value = '';
  tagFilter.value = '(';
  assert.match(filterError.value ?? '', /missing/);
  assert.equal(matchedCount.value, cardCount.value);
  tagFilter.value = '(a+)+$|^loss$';
  assert.equal(filterError.value, null);
  assert.deepEqual(
    cards()
      .map((one) => one.name)
      .sort(),
    ['a', 'loss'],
  );
});

test('cards without data of the chosen runs are hidden and counted', () => {
  runs.value = [0, 1].map((id) => ({ id, name: `run${id}`, segments: 1 }) as Run);
  series.value = [...series.value, { tag: 1, run: 1, n: 3 } as (typeof series.value)[number]];
  overlays.value = [];
  assert.deepEqual([cards().length, emptyCount.value], [HOSTILE.length, 0]);
  runChoice.value = only(['run1']);
  assert.deepEqual(
    cards().map((one) => one.name),
    [HOSTILE[1]],
  );
  assert.equal(emptyCount.value, HOSTILE.length - 1);
  assert.equal(cardCount.value, HOSTILE.length);
  showsEmpty.value = true;
  assert.equal(cards().length, HOSTILE.length);
  showsEmpty.value = false;
  runChoice.value = everyRun;
});
