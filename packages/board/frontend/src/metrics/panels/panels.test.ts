import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ABOVE,
  MOST_BYTES,
  moved,
  type Panels,
  panelsByPlace,
  textError,
  without,
  withText,
} from './panels.ts';

const idsAt = (document: Record<string, unknown>, place: string) =>
  (panelsByPlace(document).get(place) ?? []).map((panel) => panel.id);

function three(): Panels {
  let document: Panels = {};
  for (const id of ['c', 'a', 'b']) document = withText(document, id, ABOVE, `text of ${id}`);
  return withText(document, 'd', 'train', 'text of d');
}

test('new panels are the last of their place, and keep it when their text changes', () => {
  const document = withText(three(), 'a', 'another place', 'changed');
  assert.deepEqual(idsAt(document, ABOVE), ['c', 'a', 'b']);
  assert.deepEqual(document.a, { text: 'changed', place: ABOVE, order: 1 });
  assert.deepEqual(idsAt(document, 'train'), ['d']);
  assert.deepEqual(idsAt(without(document, 'c'), ABOVE), ['a', 'b']);
});

test('panels move within their place and not beyond its ends', () => {
  const document = three();
  assert.deepEqual(idsAt(moved(document, 'b', -1), ABOVE), ['c', 'b', 'a']);
  assert.deepEqual(idsAt(moved(document, 'c', 1), ABOVE), ['a', 'c', 'b']);
  for (const [id, by] of [
    ['c', -1],
    ['b', 1],
    ['d', 1],
    ['none', 1],
  ] as const) {
    assert.equal(moved(document, id, by), document);
  }
});

test('panels that two pages numbered alike have one order for everyone', () => {
  const at = { text: '', place: ABOVE, order: 0 };
  assert.deepEqual(idsAt(moved({ y: at, x: at, z: at }, 'z', -1), ABOVE), ['x', 'z', 'y']);
});

test('what is not a panel is left out', () => {
  const document = {
    a: null,
    b: 7,
    c: { text: 1, place: ABOVE },
    d: { text: 't', place: ABOVE, order: 'x' },
  };
  assert.deepEqual(idsAt(document, ABOVE), ['d']);
});

test('a text that is too long is an error with both sizes', () => {
  assert.equal(textError({}, 'a', 'x'.repeat(MOST_BYTES)), null);
  assert.match(textError({}, 'a', `é${'x'.repeat(MOST_BYTES - 1)}`)!, /64,001 bytes.* 64 KB/);
  const many = Object.fromEntries(
    Array.from({ length: 15 }, (_, i) => [`${i}`, { text: 'x'.repeat(60_000), place: ABOVE, order: i }]),
  );
  assert.match(textError(many, 'new', 'x')!, /together have .* more than 900 KB/);
  assert.equal(textError(many, '3', 'x'), null);
});
