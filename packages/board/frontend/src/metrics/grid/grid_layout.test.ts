import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GAP, type GridSection, HEADING_HEIGHT, inSight, layOut } from './grid_layout.ts';
import { isInShut, sectionsOf } from './tag_tree.ts';

const card = (id: string, more: object = {}) => ({
  id,
  large: false,
  height: 200,
  tall: 400,
  row: 'a',
  ...more,
});

function sections(): GridSection[] {
  return [
    {
      path: 'train',
      shut: false,
      cards: [card('a'), card('b'), card('c'), card('d', { large: true }), card('e', { row: 'h' })],
    },
    { path: 'shut', shut: true, cards: [card('f')] },
    { path: 'eval', shut: false, cards: Array.from({ length: 500 }, (_, i) => card(`g${i}`)) },
  ];
}

test('no two items overlap, and none leaves the page', () => {
  for (const width of [300, 700, 1100, 1600]) {
    const { items, height } = layOut(sections(), width, 360);
    for (const [i, a] of items.entries()) {
      assert.ok(a.x >= 0 && a.x + a.width <= width && a.y + a.height <= height);
      for (const b of items.slice(i + 1, i + 12)) {
        const apart =
          a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        assert.ok(apart, `${a.id} ${b.id}`);
      }
    }
  }
});

test('a large card takes a whole row; a closed section shows only its heading', () => {
  const { items } = layOut(sections(), 1100, 360);
  const of = (id: string) => items.find((i) => i.id === id)!;
  assert.equal(of('d').width, 1100);
  assert.equal(of('c').y, of('a').y);
  assert.equal(of('e').y, of('d').y + 400 + GAP);
  assert.equal(
    items.some((i) => i.id === 'f'),
    false,
  );
  assert.equal(of('eval').y, of('shut').y + HEADING_HEIGHT);
});

test('cards of different kinds share the row of a folder that has no more', () => {
  const folder = (path: string, cards: GridSection['cards']) => ({ path, shut: false, cards });
  const mixed = [card('a'), card('b', { row: 'h', height: 300 })];
  const { items, columns } = layOut(
    [folder('few', mixed), folder('more', [...mixed, card('c', { row: 'h' })]), folder('last', [card('d')])],
    800,
    360,
  );
  const of = (id: string, section: number) => items.find((i) => i.id === id && i.section === section)!;
  assert.equal(columns, 2);
  assert.equal(of('b', 0).y, of('a', 0).y);
  assert.equal(of('more', 1).y, of('b', 0).y + 300 + GAP + 4);
  assert.ok(of('b', 1).y > of('a', 1).y && of('c', 1).y === of('b', 1).y);
});

test('panels take whole rows: above all, and below the heading of their folder', () => {
  const panel = { id: 'n', height: 70 };
  const [open, shut, last] = sections();
  const withPanels = [{ ...open!, panels: [panel] }, { ...shut!, panels: [{ ...panel, id: 'm' }] }, last!];
  const { items } = layOut(withPanels, 1100, 360, [{ id: 'top', height: 50 }]);
  const of = (id: string) => items.find((item) => item.id === id)!;
  assert.deepEqual([of('top').y, of('top').width, of('top').section], [GAP, 1100, -1]);
  assert.equal(of('train').y, GAP + 50 + GAP);
  assert.equal(of('n').y, of('train').y + HEADING_HEIGHT);
  assert.equal(of('a').y, of('n').y + 70 + GAP);
  assert.equal(of('m'), undefined);
  const short = { path: 's', shut: false, cards: [card('x')] };
  const placed = layOut([short, { ...short, path: 't', panels: [panel] }], 1100, 360).items;
  assert.ok(
    placed.every((item) => !item.shared),
    'a folder with a panel has a row of its own',
  );
});

test('what is in sight is all that touches the window, and little more is looked at', () => {
  const layout = layOut(sections(), 1100, 360);
  for (const top of [0, 333, 5000, layout.height - 10]) {
    const seen = inSight(layout, top, top + 800);
    const all = layout.items.filter((i) => i.y < top + 800 && i.y + i.height > top);
    assert.deepEqual(seen, all);
  }
});

test('tags are in their folders, and folders that hold only a folder merge', () => {
  const leaf = (name: string) => ({ id: name, kind: 'scalar' as const, name });
  const found = sectionsOf(
    ['z', 'a/b/c/x10', 'a/b/c/x2', 'train/loss', 'train/l1/w', 'train/l1/b'].map(leaf),
    ['scalar'],
  );
  assert.deepEqual(
    found.map((s) => [s.path, s.title, s.depth, s.count]),
    [
      ['', '', 0, 1],
      ['a/b/c', 'a/b/c', 0, 2],
      ['train', 'train', 0, 3],
      ['train/l1', 'l1', 1, 2],
    ],
  );
  assert.deepEqual(
    found[1]!.cards.map((c) => c.name),
    ['a/b/c/x2', 'a/b/c/x10'],
  );
  assert.ok(isInShut('train/l1', (path) => path === 'train'));
  assert.ok(!isInShut('train', (path) => path === 'train'));
});

test('short sections share a row while there are columns for them', () => {
  const section = (path: string, n: number, more: object = {}): GridSection => ({
    path,
    shut: false,
    cards: Array.from({ length: n }, (_, i) => card(`${path}${i}`, more)),
  });
  const placed = (sections: GridSection[], width = 1110) => {
    const { items } = layOut(sections, width, 360); // three columns
    return Object.fromEntries(items.map((item) => [item.id, item]));
  };
  const one = placed([section('a', 1), section('b', 2), section('c', 1), section('d', 3)]);
  assert.deepEqual([one.a!.y, one.b!.y, one.c!.y], [0, 0, one.a0!.y + 200 + GAP + 4]);
  assert.ok(one.a!.shared && one.b!.shared && !one.c!.shared && !one.d!.shared);
  assert.ok(one.a!.x + one.a!.width < one.b!.x && one.b!.x === one.b0!.x);
  assert.equal(one.c!.width, 1110);
  assert.ok(one.d!.y > one.c0!.y + 200);
  const other = placed([section('a', 1), section('b', 1, { large: true }), section('c', 1)]);
  assert.ok(other.a!.y < other.b!.y && other.b!.y < other.c!.y, 'a large card has a row of its own');
  const narrow = placed([section('a', 1), section('b', 1)], 400);
  assert.ok(narrow.a!.y < narrow.b!.y && !narrow.a!.shared);
});
