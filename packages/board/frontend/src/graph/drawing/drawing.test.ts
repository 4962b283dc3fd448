import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oklch } from '../../picture/oklch.ts';
import { pngScale } from '../export/export_graph.ts';
import { sampleGraph } from '../model/sample_graph.ts';
import { CLOSED } from '../model/view_state.ts';
import { buildIndex, IndexedScene } from '../scene/indexed_scene.ts';
import { ViewLayout } from '../scene/view_layout.ts';
import { between, bringIntoView, fit, zoomAbout } from './camera.ts';
import { drawScene } from './draw_scene.ts';
import { edgeWidth, traceEdge } from './edge_path.ts';
import { Paint } from './paint.ts';
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

test('colours are valid hexadecimal colours', () => {
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

/** The corners of the boxes that are drawn of a graph that is one series. */
function sheets(chain: boolean): [number, number][] {
  const model = sampleGraph(['a_0/x: Relu', 'a_1/x: Relu <- a_0/x', 'a_2/x: Relu <- a_1/x'], {
    series: [{ parent: '', pattern: 'a_[0-2]', members: ['a_0', 'a_1', 'a_2'] }],
  });
  model.header.series[0]!.chain = chain;
  const scene = new ViewLayout(model).layout(CLOSED);
  const message = {
    serial: 1,
    scene,
    itemIndex: buildIndex(scene.box, false),
    edgeIndex: buildIndex(scene.edgeBox, true),
    milliseconds: 0,
  };
  const ink = '#000000';
  const surface = new SvgSurface();
  const steps = drawScene(surface, {
    model,
    indexed: new IndexedScene(message, new Set()),
    paint: new Paint(model, 'light', 'structure'),
    inks: {
      ground: ink,
      text: ink,
      soft: ink,
      faint: ink,
      edge: ink,
      control: ink,
      edgeFaint: ink,
      accent: ink,
      strip: ink,
      line: ink,
      font: 'sans-serif',
    },
    camera: { x: 0, y: 0, k: 0.5 },
    width: 400,
    height: 400,
    ratio: 1,
    emphasis: { lit: null, bright: null },
    label: () => 'a',
    textWidth: (text) => 7 * text.length,
  });
  for (const _ of steps);
  const boxes = surface.text(400, 400).matchAll(/d="M(\S+) (\S+?)h\S+?a(\S+) [^"]*" fill="#/g);
  return [...boxes].map(([, x, y, r]) => [Number(x) - Number(r), Number(y)]);
}

test('the sheets of a chain lie below the first, those of parallel scopes beside it', () => {
  for (const chain of [true, false]) {
    const drawn = sheets(chain);
    const front = drawn.at(-1)!;
    assert.equal(drawn.length, 3);
    for (const [x, y] of drawn.slice(0, 2)) {
      const [across, down] = [x! - front[0], y! - front[1]];
      assert.ok(chain ? down > across : across > down, `${chain} ${across} ${down}`);
    }
  }
});

test('a PNG is twice the size on the screen, but no more than a canvas can hold', () => {
  assert.equal(pngScale(1000, 800), 2);
  for (const [w, h] of [
    [200_000, 80_000],
    [9000, 9000],
    [50_000, 100],
  ] as const) {
    const k = pngScale(w, h);
    assert.ok(w * k <= 12_001 && h * k <= 12_001 && w * h * k * k <= 36e6 + 1);
  }
});
