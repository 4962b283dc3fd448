import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markOfRatio, microseconds, ratioText } from './figures.ts';
import { whyText } from './reasons.ts';
import { receivesText, stepText } from './summary_text.ts';

const node = { why: 'first', with: '', requested: '', request_ignored: false, estimates: [] as unknown[] };

test('each reason has words, with the other node or the requested device', () => {
  const words = (why: string) => whyText({ ...node, why, with: 'a/b', requested: '/cpu:1', estimates: [1] });
  assert.deepEqual(
    ['first', 'requested', 'kernels', 'colocated', 'reference', 'state', 'simulated', 'accelerator'].map(
      words,
    ),
    [
      'the first device that it may have',
      'requested: /cpu:1',
      'only there is a kernel for it',
      'colocated with a/b',
      'refers to the state of a/b',
      'its state is there',
      'ends soonest there',
      'the first accelerator that it may have',
    ],
  );
  assert.equal(whyText({ ...node, why: 'simulated' }), 'ends soonest there, with its group');
});

test('an ignored request and an unknown reason are named, hostile names are shown as text', () => {
  assert.equal(
    whyText({ ...node, requested: '/gpu:0', request_ignored: true }),
    'the first device that it may have (requested /gpu:0, no such device for it: soft placement)',
  );
  assert.equal(whyText({ ...node, why: '77' }), 'a reason that this version does not know (77)');
  assert.match(whyText({ ...node, why: 'constructor' }), /does not know/);
  assert.equal(whyText({ ...node, why: 'colocated', with: 'a\u202eb' }), 'colocated with a\\u202eb');
});

test('a measured time above three times the expected one, or below a third, is marked', () => {
  assert.deepEqual([null, 0.3, 0.34, 1, 3, 3.01].map(markOfRatio), ['', 'faster', '', '', '', 'slower']);
  assert.deepEqual([null, 0, 0.004, 0.25, 0.999, 3.2, 12.4, 5000].map(ratioText), [
    '–',
    '×0.00',
    '<×0.01',
    '×0.25',
    '×1.0',
    '×3.2',
    '×12',
    '>×999',
  ]);
  assert.deepEqual([null, 0, 0.5, 1250].map(microseconds), ['–', '0 ns', '500 ns', '1.25 ms']);
});

test('the summary compares the expected step with the first devices and with what it took', () => {
  const step = { simulated: true, expected_us: 31.5, first_devices_us: 78.25, measured_us: 50 };
  assert.equal(
    stepText(step),
    'Placed by a simulation: a step is expected to take 31.5 µs, 78.3 µs with each node on its first device; this one took 50.0 µs.',
  );
  assert.match(
    stepText({ ...step, simulated: false }),
    /^Not placed by a simulation, each node is on the first device/,
  );
  assert.match(stepText({ ...step, expected_us: null }), /^No node had a choice/);
});

test('delayed tensors are counted with the bytes that wait', () => {
  const receives = {
    delayed: 2,
    peak_bytes: 3 << 20,
    peak_bytes_before: 7 << 20,
    step_us: null,
    step_us_before: null,
  };
  assert.equal(
    receivesText(receives),
    '2 tensors are sent no earlier than needed: at most 3 MiB wait for a reader at one time, not 7 MiB.',
  );
  assert.equal(
    receivesText({ ...receives, delayed: 1, peak_bytes: null }),
    '1 tensor is sent no earlier than needed.',
  );
  assert.equal(
    receivesText({ ...receives, delayed: 0 }),
    'No tensor is delayed until its receiver needs it.',
  );
});
