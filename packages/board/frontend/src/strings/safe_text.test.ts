import assert from 'node:assert/strict';
import { test } from 'node:test';
import { safeText } from './safe_text.ts';

test('characters that hide or reorder text are seen', () => {
  const hidden = ['\u202e', '\u061c', '\u180e', '\u200b', '\u2066', '\ufeff', '\ufff9', '\n', '\u0085'];
  for (const c of hidden) {
    assert.equal(safeText(`a${c}b`), `a\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}b`);
  }
  assert.equal(safeText('a\u{e0041}b'), 'a\\u{e0041}b');
});

test('other text stays as it is, and long text is cut', () => {
  for (const text of ['train/loss', 'é ß 漢字 עברית', '👩🏽', 'a\\u202e']) assert.equal(safeText(text), text);
  assert.equal(safeText('abcdef', 3), 'abc…');
});
