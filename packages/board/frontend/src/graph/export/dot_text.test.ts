import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleGraph } from '../model/sample_graph.ts';
import { CLOSED, type ViewState } from '../model/view_state.ts';
import { OPENED } from '../scene/scene.ts';
import { shownEdges } from '../scene/shown_edges.ts';
import { ViewLayout } from '../scene/view_layout.ts';
import { type DotJob, dotText } from './dot_text.ts';

const model = sampleGraph(
  [
    'x: Placeholder',
    ...[0, 1, 2].flatMap((i) => [
      `layer_${i}/mul: MatMul <- ${i === 0 ? 'x' : `layer_${i - 1}/relu`}`,
      `layer_${i}/relu: Relu <- layer_${i}/mul`,
    ]),
    'head/soft"max: Softmax <- layer_2/relu, ^x',
    'save/all: NoOp <- ^layer_0/mul, ^x',
  ],
  {
    side: ['save'],
    series: [{ parent: '', pattern: 'layer_[0-2]', members: ['layer_0', 'layer_1', 'layer_2'] }],
  },
);

function job(view: ViewState): DotJob {
  const scene = new ViewLayout(model).layout(view);
  const label = (item: number) =>
    item < model.total ? model.labels[item]! : model.header.series[item - model.total]!.pattern;
  const style = () => ({ fill: '#fff', border: '#000', notch: false, bar: null });
  return { model, view, scene, title: 't', label, style, members: () => 3 };
}

const edges = (view: ViewState) => {
  const { scene, label } = job(view);
  return shownEdges(model, view, scene).map(({ from, to, data, control }) =>
    [label(scene.item[from]!), label(scene.item[to]!), data, control].join(' '),
  );
};

test('edges of the scene join shown items, with grouped series, across borders of opened groups', () => {
  assert.deepEqual(edges(CLOSED).sort(), ['layer_[0-2] head 1 0', 'x head 0 1', 'x layer_[0-2] 1 0']);
  const open = { ...CLOSED, open: new Set([model.find('head')]) };
  assert.deepEqual(edges(open).sort(), ['layer_[0-2] soft"max 1 0', 'x layer_[0-2] 1 0', 'x soft"max 0 1']);
});

test('hidden kinds and auxiliary nodes have no edges, an item moved to the main graph has', () => {
  const matmul = model.header.strings.ops.indexOf('MatMul');
  assert.deepEqual(edges({ ...CLOSED, hidden: new Set([matmul]) }).sort(), [
    'layer_[0-2] head 1 0',
    'x head 0 1',
  ]);
  const moved = { ...CLOSED, moved: new Map([[model.find('save'), false]]) };
  assert.ok(edges(moved).includes('layer_[0-2] save 0 1'));
});

test('DOT has one node for each closed box, and one cluster for each opened group', () => {
  const exported = job({
    ...CLOSED,
    unfolded: new Set([0]),
    open: new Set([model.find('layer_1'), model.find('head')]),
  });
  const text = dotText(exported);
  const closed = [...exported.scene.kind].filter((k) => k !== OPENED).length;
  assert.equal(text.match(/^ *n\d+ \[/gm)!.length, closed);
  assert.equal(text.match(/subgraph cluster_\d+ /g)!.length, 2);
  assert.equal(text.match(/subgraph cluster_side/g)!.length, 1);
  assert.ok(text.includes('label="soft\\"max"'));
  assert.ok(text.includes('rankdir=TB'));
  assert.equal(text.split('{').length, text.split('}').length);
});
