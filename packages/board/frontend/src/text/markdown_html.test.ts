import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markdownHtml } from './markdown_html.ts';

test('markdown becomes the elements of its tokens', () => {
  const text = '# A\n\n1. **b** `c`\n2. d\n\n| e |\n|--:|\n| 1 |\n\n---\n\n```\n<f>\n```';
  assert.equal(
    markdownHtml(text).text,
    '<h4>A</h4><ol start="1"><li><strong>b</strong> <code>c</code></li><li>d</li></ol>' +
      '<table><thead><tr><th class="align-right">e</th></tr></thead>' +
      '<tbody><tr><td class="align-right">1</td></tr></tbody></table><hr><pre><code>&lt;f&gt;\n</code></pre>',
  );
});

test('raw HTML, images and links that are not http(s) stay text', () => {
  const evil = [
    '<img src=x onerror=alert(1)>',
    '![x](https://evil.example/x.png)',
    '[a](javascript:alert(1)) [b](data:text/html,x) [c](/path) [d](vbscript:x)',
    '<a href="javascript:x">e</a> `"><script>`',
    '[f](https://example.org/"onclick="x)',
  ];
  const { text } = markdownHtml(evil.join('\n\n'));
  const tags = [...text.matchAll(/<(\w+)([^>]*)>/g)];
  assert.deepEqual([...new Set(tags.map((tag) => tag[1]))].sort(), ['a', 'code', 'p', 'span']);
  for (const tag of tags) assert.doesNotMatch(tag[2]!, /\son|javascript|data:|vbscript/);
  const links = [...text.matchAll(/href="([^"]*)"/g)].map((found) => found[1]!);
  assert.ok(
    links.every((link) => link.startsWith('https://')),
    links.join(),
  );
});
