import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SvgSurface } from './surface.ts';

test('text of the data cannot leave its element', () => {
  const svg = new SvgSurface(10, 10);
  svg.font = '600 11px "A" & b';
  svg.fillText('</text><script>&"\u0000', 1.234, 2);
  const file = String(svg);
  assert.ok(!file.includes('<script'));
  assert.ok(file.includes('&lt;/text&gt;&lt;script&gt;&amp;&quot;<'));
  assert.ok(file.includes('x="1.23" y="2"'));
  assert.ok(file.includes('font-weight="600"'));
});

test('a path has the given commands', () => {
  const svg = new SvgSurface(10, 10);
  svg.beginPath();
  svg.moveTo(0, 1);
  svg.lineTo(2, 3);
  svg.closePath();
  svg.globalAlpha = 0.5;
  svg.fill();
  assert.ok(String(svg).includes('<path d="M0 1L2 3Z" fill="#000" opacity="0.5"/>'));
});
