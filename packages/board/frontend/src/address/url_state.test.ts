import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { number, text } from './url_codec.ts';

const listeners = new Map<string, () => void>();
const entries: { hash: string; pushed: boolean }[] = [];
const place = { hash: '#/metrics?later=kept&n=7' };

Object.assign(globalThis, {
  location: place,
  history: {
    pushState: (_: unknown, __: string, hash: string) => {
      place.hash = hash;
      entries.push({ hash, pushed: true });
    },
    replaceState: (_: unknown, __: string, hash: string) => {
      place.hash = hash;
      entries.push({ hash, pushed: false });
    },
  },
  addEventListener: (name: string, call: () => void) => listeners.set(name, call),
});

let state: typeof import('./url_state.ts');
let n: { value: number };
let q: { value: string };
const settled = () => new Promise((resolve) => setTimeout(resolve, 200));
const travel = (hash: string) => {
  place.hash = hash;
  listeners.get('popstate')!();
};

before(async () => {
  state = await import('./url_state.ts');
  n = state.urlSignal('n', number, 1);
  q = state.urlSignal('q', text, '');
});
beforeEach(() => {
  entries.length = 0;
});

test('a signal starts with the value in the address, or its default', () => {
  assert.equal(state.page.value, 'metrics');
  assert.equal(n.value, 7);
  assert.equal(q.value, '');
});

test('changes are written to the address together, replace the history entry, and leave out defaults', async () => {
  n.value = 8;
  q.value = 'a b';
  n.value = 1;
  await settled();
  assert.deepEqual(entries, [{ hash: '#/metrics?q=a+b&later=kept', pushed: false }]);
});

test('parameters of pages that are not loaded yet stay in the address', () => {
  assert.match(state.address(), /later=kept/);
  const late = state.urlSignal('later', text, '');
  assert.equal(late.value, 'kept');
  late.value = '';
  assert.doesNotMatch(state.address(), /later/);
});

test('another page is a new history entry, after the changes on this one', async () => {
  n.value = 3;
  state.goTo('graph');
  await settled();
  assert.deepEqual(
    entries.map((entry) => entry.pushed),
    [false, true],
  );
  assert.equal(place.hash, '#/graph?n=3&q=a+b');
  assert.equal(state.address('trace'), '#/trace?n=3&q=a+b');
  state.goTo('graph');
  assert.equal(entries.length, 2, 'the same page is not a new entry');
});

test('going back reads the address and writes nothing', async () => {
  travel('#/metrics?n=5&n=6&q=%E2%82%AC');
  assert.equal(state.page.value, 'metrics');
  assert.equal(n.value, 6);
  assert.equal(q.value, '€');
  await settled();
  assert.deepEqual(entries, []);
});

test('an invalid or missing value is the default', () => {
  travel('#/metrics?n=many');
  assert.equal(n.value, 1);
  assert.equal(q.value, '');
  travel('#');
  assert.equal(state.page.value, '');
});

test('a step is an entry of its own, after the changes before it; later changes stay in it', async () => {
  travel('#/metrics');
  n.value = 2;
  state.beginStep();
  q.value = 'loss';
  await settled();
  q.value = 'loss$';
  await settled();
  assert.deepEqual(entries, [
    { hash: '#/metrics?n=2', pushed: false },
    { hash: '#/metrics?n=2&q=loss', pushed: true },
    { hash: '#/metrics?n=2&q=loss%24', pushed: false },
  ]);
});

test('a step that changes nothing is no entry, nor is the change after it', async () => {
  travel('#/metrics');
  state.beginStep();
  await settled();
  n.value = 4;
  await settled();
  assert.deepEqual(entries, [{ hash: '#/metrics?n=4', pushed: false }]);
});
