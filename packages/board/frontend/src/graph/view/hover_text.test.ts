import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleGraph } from '../model/sample_graph.ts';
import { hoverText } from './hover_text.ts';

test('the pointer shows the full name, the op and the shapes of an op, and the size of a group', () => {
  const model = sampleGraph([
    'net/conv/weights: Const',
    'net/conv/out: Conv2D <- net/conv/weights',
    'loss: Mean <- net/conv/out',
  ]);
  model.shape[1] = 0;
  model.header.strings.shapes = ['float [32, 8]'];
  const named = { model, nameOfItem: (item: number) => model.path(item) };
  let [ops, shapes, groups] = [0, 0, 0];
  for (let v = 0; v < model.total; v++) {
    if (v === model.root) continue;
    const [name, ...rest] = hoverText(named, v).split('\n');
    assert.equal(name, model.path(v));
    if (model.isGroup(v)) {
      groups++;
      assert.match(rest[0]!, /^[\d,]+ ops?$/);
      continue;
    }
    ops++;
    assert.equal(rest[0], model.opName(v));
    if (model.shapeOf(v) !== '') {
      shapes++;
      assert.equal(rest[1], `output ${model.shapeOf(v)}`);
    }
  }
  assert.ok(shapes === 1 && ops === 3 && groups > 1, `${ops} ops, ${shapes} shapes, ${groups} groups`);
});
