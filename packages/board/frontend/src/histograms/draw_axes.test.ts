import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { drawAxes } from './draw_axes.ts';
import { compose } from './histogram_scene.ts';
import type { HistogramTable } from './histogram_table.ts';

/** The texts on the axes of a heat-map over wall times. */
function texts(walls: number[]): string[] {
  const rows = walls.length;
  const table: HistogramTable = {
    rows,
    bins: 1,
    total: rows,
    steps: Float64Array.from(walls, (_, i) => i),
    walls: Float64Array.from(walls),
    edges: Float64Array.of(0, 1),
    counts: new Float64Array(rows).fill(1),
    percentiles: new Float64Array(rows * 9),
    sums: new Float64Array(rows).fill(1),
  };
  const written: string[] = [];
  const surface = {
    fillText: (text: string) => written.push(text),
    beginPath() {},
    moveTo() {},
    lineTo() {},
    stroke() {},
    strokeRect() {},
  } as unknown as Surface;
  const layers = [{ run: 1, name: 'r', colour: '#f00', table }];
  const scene = compose(layers, { mode: 'heat', axis: 'wall', logCounts: false, apart: false }, 400, 200);
  drawAxes(surface, scene, scene.facets[0]!, { grid: '', faint: '', font: '' } as Palette);
  return written;
}

test('wall times on an axis are those of the day, or days; those of a broken clock are numbers', () => {
  assert.ok(texts([1.7e9, 1.7e9 + 3600]).some((text) => /^\d\d:\d\d:\d\d$/.test(text)));
  assert.ok(texts([1.7e9, 1.7e9 + 1e6]).some((text) => /^\d\d-\d\d$/.test(text)));
  const broken = texts([1.7e9, 1e300]);
  assert.ok(broken.includes('5e299'), broken.join());
  assert.ok(!broken.some((text) => text === undefined || text === ''), broken.join());
});
