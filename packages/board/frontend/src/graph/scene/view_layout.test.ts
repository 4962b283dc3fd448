import assert from 'node:assert/strict';
import { test } from 'node:test';
import { opWithin } from '../model/op_within.ts';
import { inputsOf, marksBelow, reach } from '../model/reach.ts';
import { sampleGraph } from '../model/sample_graph.ts';
import { CLOSED, reveal, type ViewState } from '../model/view_state.ts';
import { decodeView, encodeView } from '../model/view_text.ts';
import { groupContent } from './group_content.ts';
import { FROM_PORT, OPENED, SERIES, TO_PORT } from './scene.ts';
import { ViewLayout } from './view_layout.ts';

const lines = [
  'x: Placeholder',
  ...[0, 1, 2, 3].flatMap((i) => [
    `layer_${i}/w: VariableV2`,
    `layer_${i}/mul: MatMul <- ${i === 0 ? 'x' : `layer_${i - 1}/act/relu`}, layer_${i}/w`,
    `layer_${i}/act/relu: Relu <- layer_${i}/mul`,
  ]),
  'loss: Mean <- layer_3/act/relu',
  'save/all: NoOp <- ^layer_0/w, ^layer_1/w, ^layer_2/w, ^layer_3/w',
];
const options = {
  side: ['save'],
  series: [{ parent: '', pattern: 'layer_[0-3]', members: ['layer_0', 'layer_1', 'layer_2', 'layer_3'] }],
};
const model = sampleGraph(lines, options);
const names = (items: Iterable<number>) =>
  [...items].map((v) => (v < model.total ? model.path(v) : model.header.series[v - model.total]!.pattern));
const opened = (...paths: string[]): ViewState => ({
  ...CLOSED,
  unfolded: new Set([0]),
  open: new Set(paths.map((p) => model.find(p))),
});

test('a model knows names, intervals, and the way between', () => {
  assert.equal(model.path(model.find('layer_2/act/relu')), 'layer_2/act/relu');
  assert.equal(model.find('layer_2/none'), -1);
  const group = model.find('layer_2');
  assert.ok(model.isBelow(model.find('layer_2/act/relu'), group));
  assert.ok(!model.isBelow(model.find('layer_1/act/relu'), group));
  assert.deepEqual([...model.opsBelow(group)].map((v) => model.labels[v]).sort(), ['mul', 'relu', 'w']);
  assert.equal(model.childTowards(model.root, model.find('layer_2/act/relu')), group);
});

test('a series stands for its members, and auxiliary nodes have stubs instead of edges', () => {
  const content = groupContent(model, CLOSED, model.root);
  assert.deepEqual(names(content.items), ['x', 'loss', 'layer_[0-3]']);
  assert.deepEqual(names(content.auxiliary), ['save']);
  assert.deepEqual(
    content.src.map((a, e) => [content.items[a], content.items[content.dst[e]!]].map((v) => names([v!])[0])),
    [
      ['x', 'layer_[0-3]'],
      ['layer_[0-3]', 'loss'],
    ],
  );
  const stubs = content.stubs.get(model.total)!;
  assert.deepEqual(stubs, [{ item: model.find('save'), outgoing: true, count: 4 }]);
});

test('edges that cross the border of an opened group end in ports named by what is outside', () => {
  const content = groupContent(model, opened('layer_1'), model.find('layer_1'));
  assert.deepEqual(names(content.items), ['layer_1/w', 'layer_1/mul', 'layer_1/act']);
  assert.deepEqual(
    content.ports.map((p) => [p.outgoing, names([p.key])[0]]),
    [
      [false, 'layer_0'],
      [true, 'layer_2'],
    ],
  );
  assert.deepEqual(names([...content.stubs.keys()]), ['layer_1/w']);
});

test('every edge of the graph is drawn in one piece after the other, from op to op', () => {
  const view: ViewState = { ...CLOSED, allOpen: true };
  const scene = new ViewLayout(model).layout(view);
  assert.equal(scene.kind.filter((k) => k === SERIES).length, 0);
  const place = new Map([...scene.item].map((v, i) => [v, i]));
  for (let e = 0; e < scene.from.length; e++) {
    const first = scene.pointStart[e]!;
    const last = scene.pointStart[e + 1]! - 1;
    const box = (item: number) => scene.box.subarray(4 * place.get(item)!, 4 * place.get(item)! + 4);
    const touches = (item: number, p: number) => {
      const [x, y, w, h] = box(item) as unknown as [number, number, number, number];
      const [px, py] = [scene.points[2 * p]!, scene.points[2 * p + 1]!];
      return px >= x - 1 && px <= x + w + 1 && (Math.abs(py - y) < 1.5 || Math.abs(py - y - h) < 1.5);
    };
    const group = scene.edgeGroup[e]!;
    const around = group < 0 ? -1 : scene.item[group]!;
    assert.ok(touches(scene.edgeFlags[e]! & FROM_PORT ? around : scene.from[e]!, first), `start of ${e}`);
    assert.ok(touches(scene.edgeFlags[e]! & TO_PORT ? around : scene.to[e]!, last), `end of ${e}`);
  }
});

test('a piece in an opened group meets the piece outside at the border', () => {
  const scene = new ViewLayout(model).layout(opened('layer_1', 'layer_2'));
  const ends = (flag: number) =>
    [...scene.from.keys()]
      .filter((e) => scene.edgeFlags[e]! & flag)
      .map((e) => {
        const p = flag === FROM_PORT ? scene.pointStart[e]! : scene.pointStart[e + 1]! - 1;
        return [scene.points[2 * p]!, scene.points[2 * p + 1]!] as const;
      });
  const outer = [...scene.from.keys()]
    .filter((e) => scene.edgeGroup[e] === -1)
    .flatMap((e) => [scene.pointStart[e]!, scene.pointStart[e + 1]! - 1])
    .map((p) => [scene.points[2 * p]!, scene.points[2 * p + 1]!] as const);
  for (const [x, y] of [...ends(FROM_PORT), ...ends(TO_PORT)]) {
    assert.ok(
      outer.some(([ox, oy]) => Math.abs(ox - x) < 1.5 && Math.abs(oy - y) < 1.5),
      `nothing outside meets ${x}, ${y}`,
    );
  }
  assert.equal(ends(FROM_PORT).length, 2);
});

test('opening a group lays out it and what is around it, and nothing else moves out of order', () => {
  const layout = new ViewLayout(model);
  const before = layout.layout(opened());
  const after = layout.layout(opened('layer_2'));
  const y = (scene: typeof before, path: string) => scene.box[4 * scene.item.indexOf(model.find(path)) + 1]!;
  for (const scene of [before, after]) {
    assert.ok(y(scene, 'layer_0') < y(scene, 'layer_1'));
    assert.ok(y(scene, 'layer_1') < y(scene, 'layer_2'));
    assert.ok(y(scene, 'layer_2') < y(scene, 'layer_3'));
  }
  assert.equal(after.kind[after.item.indexOf(model.find('layer_2'))], OPENED);
  assert.deepEqual([...layout.layout(opened()).box], [...before.box]);
});

test('the same view is laid out alike whatever was seen before', () => {
  const view = { ...opened('layer_1'), moved: new Map([[model.find('x'), true]]) };
  const fresh = new ViewLayout(model).layout(view);
  const layout = new ViewLayout(model);
  for (const other of [CLOSED, opened('layer_0', 'layer_3'), { ...CLOSED, allOpen: true }, opened()]) {
    layout.layout(other);
  }
  assert.deepEqual([...layout.layout(view).box], [...fresh.box]);
});

test('hidden kinds of op leave no item and no edge', () => {
  const relu = model.header.strings.ops.indexOf('Relu');
  const view = { ...opened('layer_1'), hidden: new Set([relu]) };
  const content = groupContent(model, view, model.find('layer_1'));
  assert.ok(!content.ports.some((p) => p.outgoing));
});

test('reveal opens the groups around an op and takes a member out of its series', () => {
  const v = model.find('layer_2/act/relu');
  const view = reveal(model, CLOSED, v);
  assert.deepEqual(names(view.open).sort(), ['layer_2', 'layer_2/act']);
  assert.deepEqual(names(view.pulled), ['layer_2']);
  assert.ok(new ViewLayout(model).layout(view).item.includes(v));
});

test('a view comes back from its text, for the same graph only', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
  for (let turn = 0; turn < 50; turn++) {
    const some = (of: number, from = 0) =>
      Array.from({ length: of }, (_, i) => from + i).filter(() => random() < 0.3);
    // Only groups whose parents are open are seen, and kept.
    const open = new Set<number>();
    for (const g of some(model.total - model.root - 1, model.root + 1)) {
      if (model.parent[g] === model.root || open.has(model.parent[g]!)) open.add(g);
    }
    const view: ViewState = {
      open,
      unfolded: new Set(some(1)),
      pulled: new Set(some(model.total)),
      moved: new Map(some(model.total + 1).map((v) => [v, random() < 0.5])),
      hidden: new Set(some(model.header.strings.ops.length)),
      allOpen: false,
    };
    const back = decodeView(model, 'graph/0/run', encodeView(model, 'graph/0/run', view))!;
    assert.deepEqual([...back.open].sort(), [...view.open].sort());
    assert.deepEqual([...back.pulled], [...view.pulled]);
    assert.deepEqual([...back.hidden], [...view.hidden]);
    assert.deepEqual(
      [...back.moved].sort((a, b) => a[0] - b[0]),
      [...view.moved],
    );
  }
  const text = encodeView(model, 'graph/0/run', opened('layer_1'));
  assert.equal(encodeView(model, 'graph/0/run', CLOSED), '');
  assert.equal(decodeView(model, 'graph/0/another', text), null);
  const other = sampleGraph(['a: NoOp']);
  assert.equal(decodeView(other, 'graph/0/run', text), null);
  for (const bad of ['!', 'x!y!z', `${model.total.toString(36)}!*zzzzzz!-1!.!..`])
    decodeView(model, 'k', bad);
});

test('an address made before graphs had keys still opens its view', () => {
  const text = encodeView(model, 'graph/0/run', opened('layer_1'));
  const old = text.replace(/^([^!-]*)-[^!]*/, '$1');
  assert.notEqual(old, text);
  assert.deepEqual(decodeView(model, 'graph/0/run', old), decodeView(model, 'graph/0/run', text));
});

test('a view that is too long for the address loses whole entries, and no other', () => {
  const names = Array.from({ length: 3000 }, (_, i) => `g${i}/op: NoOp`);
  const large = sampleGraph(names);
  const view: ViewState = {
    ...CLOSED,
    open: new Set(names.map((_, i) => large.root + 1 + i).filter((_, i) => (i * i) % 7 < 3)),
    moved: new Map(names.map((_, i) => [i, true] as const).filter(([i]) => (i * i * i) % 11 < 4)),
    hidden: new Set([0]),
  };
  const text = encodeView(large, 'k', view);
  assert.ok(text.length <= 1400 && text.length > 1300, `${text.length} characters`);
  const back = decodeView(large, 'k', text)!;
  for (const g of back.open) assert.ok(view.open.has(g));
  for (const [item, side] of back.moved) assert.equal(view.moved.get(item), side);
  assert.ok(back.moved.size > 100);
  assert.deepEqual([...back.hidden], [0]);
});

test('reach follows data and control both ways', () => {
  const from = [model.find('layer_1')];
  const up = marksBelow(model, reach(model, from, 'inputs'));
  assert.ok(up[model.find('x')]! > 0 && up[model.find('layer_0')]! > 0);
  assert.equal(up[model.find('loss')], 0);
  const down = marksBelow(model, reach(model, from, 'outputs'));
  assert.ok(down[model.find('loss')]! > 0 && down[model.find('save')]! > 0);
  assert.equal(down[model.find('x')], 0);
  assert.deepEqual(
    inputsOf(model, model.find('layer_1/mul')).map((n) => model.path(n.vertex)),
    ['layer_0/act/relu', 'layer_1/w'],
  );
});

test('an op of a compared group is found within it, however alike the names', () => {
  const twins = sampleGraph(['net/conv/conv_1: Add', 'net/conv_1: Mul', 'net/conv/w: Const']);
  const conv = twins.find('net/conv');
  assert.equal(opWithin(twins, conv, 'conv_1'), twins.find('net/conv/conv_1'));
  // The group's own name begins the op's: still one within it.
  const nested = sampleGraph(['conv/conv/w: Const', 'conv/w: Const']);
  assert.equal(opWithin(nested, nested.find('conv'), 'conv/w'), nested.find('conv/conv/w'));
  // An op that is named as the group keeps its whole name.
  assert.equal(opWithin(twins, conv, 'net/conv_1'), twins.find('net/conv_1'));
});
