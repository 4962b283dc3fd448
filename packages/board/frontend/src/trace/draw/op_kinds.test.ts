import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hueOfText, kindOf, OP_KINDS, scopeOf } from './op_kinds.ts';

test('known ops have the expected kind', () => {
  const kinds: Record<string, string> = {
    MatMul: 'matrix',
    Conv2DBackpropFilter: 'matrix',
    'AddV2+Relu': 'elementwise',
    Relu: 'elementwise',
    ReluGrad: 'elementwise',
    MaxPoolGrad: 'reduction',
    Sum: 'reduction',
    SparseSoftmaxCrossEntropyWithLogits: 'reduction',
    ApplyAdam: 'update',
    _ReadSlot: 'update',
    Identity: 'shape',
    ConcatV2: 'shape',
    _Recv: 'transfer',
    RecvTensor: 'transfer',
    MEMCPYHtoD: 'transfer',
    QueueDequeueV2: 'input',
    Const: 'control',
    NoOp: 'control',
    MyOwnOp: 'other',
  };
  for (const [op, kind] of Object.entries(kinds)) assert.equal(kindOf(op).id, kind, op);
});

test('each kind has a different hue', () => {
  const hues = OP_KINDS.map((kind) => kind.hue);
  assert.equal(new Set(hues).size, hues.length);
});

test('a text keeps its hue, and similar texts have different hues', () => {
  assert.equal(hueOfText('layer1'), hueOfText('layer1'));
  const hues = Array.from({ length: 12 }, (_, i) => hueOfText(`layer${i}`));
  assert.ok(new Set(hues.map((h) => Math.floor(h / 30))).size >= 6);
});

test('a gradient has the scope of its forward op', () => {
  assert.equal(scopeOf('conv1/Conv2D'), 'conv1');
  assert.equal(scopeOf('gradients/conv1/Conv2D_grad/Conv2DBackpropInput'), 'conv1');
  assert.equal(scopeOf('loss'), '');
});

test('ops of PyTorch and of XLA have kinds too', () => {
  const kinds = [
    'aten::mm',
    'aten::add_',
    'aten::conv2d',
    'aten::view',
    'fusion',
    'cudaLaunchKernel',
    'ProfilerStep',
  ];
  assert.deepEqual(
    kinds.map((op) => kindOf(op).id),
    ['matrix', 'elementwise', 'matrix', 'shape', 'elementwise', 'other', 'other'],
  );
});
