import assert from 'node:assert/strict';
import { test } from 'node:test';
import { between, bringIntoView, fit, zoomAbout } from './camera.ts';
import { edgeWidth, traceEdge } from './edge_path.ts';
import { oklch } from './oklch.ts';
import { SvgSurface } from './svg_surface.ts';

test('zooming keeps the point under the cursor', () => {
  const a = { x: 10, y: -20, k: 0.5 };
  const b = zoomAbout(a, 300, 200, 1.7);
  assert.ok(Math.abs(a.x + 300 / a.k - (b.x + 300 / b.k)) < 1e-9);
  assert.ok(Math.abs(a.y + 200 / a.k - (b.y + 200 / b.k)) < 1e-9);
});

test('a rectangle is brought into view with no more motion than it needs', () => {
  const camera = { x: 0, y: 0, k: 1 };
  assert.deepEqual(bringIntoView(camera, { x: 100, y: 100, w: 50, h: 50 }, 800, 600), camera);
  const moved = bringIntoView(camera, { x: 900, y: 100, w: 50, h: 50 }, 800, 600);
  assert.equal(moved.k, 1);
  assert.ok(moved.x + 800 >= 950);
  assert.equal(moved.y, 0);
  const small = bringIntoView(camera, { x: 0, y: 0, w: 4000, h: 100 }, 800, 600);
  assert.ok(small.k < 0.2 && small.x <= 0 && small.x + 800 / small.k >= 4000);
});

test('a camera on its way starts and ends where it should', () => {
  const a = { x: 0, y: 0, k: 1 };
  const b = fit({ x: 50, y: 80, w: 4000, h: 3000 }, 800, 600);
  assert.deepEqual(between(a, b, 0), a);
  const end = between(a, b, 1);
  assert.ok(Math.abs(end.x - b.x) < 1e-6 && Math.abs(end.k - b.k) < 1e-9);
});

test('wider edges carry more bytes, control edges are thin', () => {
  assert.equal(edgeWidth(0, 1e9), 1);
  assert.ok(edgeWidth(1, 1e9) > edgeWidth(1, 1e6));
  assert.ok(edgeWidth(1, 1e15) <= 4.5);
});

test('a path runs through all its points and stops short of its arrowhead', () => {
  const ends: [number, number][] = [];
  const pen = {
    moveTo: (x: number, y: number) => ends.push([x, y]),
    lineTo: (x: number, y: number) => ends.push([x, y]),
    bezierCurveTo: (_a: number, _b: number, _c: number, _d: number, x: number, y: number) =>
      ends.push([x, y]),
  };
  traceEdge(pen, Float32Array.of(0, 0, 0, 10, 30, 40, 30, 80), 0, 4, 6);
  assert.deepEqual(ends, [
    [0, 0],
    [0, 10],
    [30, 40],
    [30, 74],
  ]);
});

test('colours are colours', () => {
  assert.equal(oklch(1, 0, 0), '#ffffff');
  assert.equal(oklch(0, 0, 0), '#000000');
  for (let hue = 0; hue < 360; hue += 15) assert.match(oklch(0.9, 0.3, hue), /^#[0-9a-f]{6}$/);
});

test('SVG escapes what names may hold', () => {
  const svg = new SvgSurface();
  svg.setTransform(1, 0, 0, 1, 0, 0);
  svg.font = '600 12px "A & B"';
  svg.fillText('<script>&"\u0000', 1, 2);
  const text = svg.text(10, 10);
  assert.ok(text.includes('&lt;script&gt;&amp;&quot;'));
  assert.ok(!text.includes('<script'));
  assert.ok(!text.includes('\u0000'));
});
