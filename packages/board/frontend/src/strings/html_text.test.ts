import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeHtml, Html, html } from './html_text.ts';

test('values are escaped between tags and in attributes', () => {
  const evil = `<img src=x onerror="a('b')">&amp;`;
  const escaped = '&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;amp;';
  assert.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${escaped}">${escaped}</p>`);
});

test('lists are joined, null is nothing, and HTML is not escaped again', () => {
  const items = ['a<', 'b'].map((item) => html`<li>${item}</li>`);
  assert.equal(html`<ul>${items}${null}</ul>${7}`.text, '<ul><li>a&lt;</li><li>b</li></ul>7');
});

test('a value in a tag must be in quotes, and an attribute holds no HTML', () => {
  const value = 'x onclick=alert(1)';
  assert.throws(() => html`<p title=${value}>`, /not in quotes/);
  assert.throws(() => html`<${value}>`, /not in quotes/);
  assert.throws(() => html`<p title="${[new Html('"><script>')]}">`, /HTML within an attribute/);
  assert.equal(html`<p title="a > b">${'<'}</p>`.text, '<p title="a > b">&lt;</p>');
});

test('characters that no document may contain are replaced', () => {
  assert.equal(escapeHtml('a\0b\u001bc\ud800d\n\te\u{1f600}'), 'a\ufffdb\ufffdc\ufffdd\n\te\u{1f600}');
});
