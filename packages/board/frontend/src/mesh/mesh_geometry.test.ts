import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edgesOf, fitOf, fitted, joined, lightOn, normalsOf } from './mesh_geometry.ts';

// A tetrahedron with a corner at the origin.
const vertices = Float32Array.of(0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2);
const faces = Int32Array.of(0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3);

test('the ball holds all vertices, and fitted ones lie within 1', () => {
  const fit = fitOf(vertices);
  assert.deepEqual(fit.middle, [1, 1, 1]);
  const out = fitted(vertices, fit);
  for (let i = 0; i < out.length; i += 3)
    assert.ok(Math.hypot(out[i]!, out[i + 1]!, out[i + 2]!) <= 1 + 1e-6);
  assert.deepEqual(fitOf(new Float32Array(0)), { middle: [0, 0, 0], radius: 1 });
  assert.deepEqual(fitOf(Float32Array.of(5, 5, 5)).radius, 1);
});

test('two balls are joined in the least that holds both', () => {
  const a = { middle: [0, 0, 0] as [number, number, number], radius: 1 };
  const b = { middle: [4, 0, 0] as [number, number, number], radius: 1 };
  assert.deepEqual(joined(a, b), { middle: [2, 0, 0], radius: 3 });
  assert.equal(joined(a, { ...a, radius: 0.5 }), a);
  assert.equal(joined(null, a), a);
});

test('normals are of unit length and look away from the middle', () => {
  const normals = normalsOf(vertices, faces);
  for (let i = 0; i < 12; i += 3) {
    const [x, y, z] = [normals[i]!, normals[i + 1]!, normals[i + 2]!];
    assert.ok(Math.abs(Math.hypot(x, y, z) - 1) < 1e-6);
    const outward = (vertices[i]! - 0.5) * x + (vertices[i + 1]! - 0.5) * y + (vertices[i + 2]! - 0.5) * z;
    assert.ok(outward > 0);
  }
});

test('each edge comes once', () => {
  const edges = edgesOf(faces, 4);
  const names = [];
  for (let i = 0; i < edges.length; i += 2) names.push(`${edges[i]}${edges[i + 1]}`);
  assert.deepEqual(names.sort(), ['01', '02', '03', '12', '13', '23']);
});

test('both sides of a face are lit alike, and what faces the light most', () => {
  assert.equal(lightOn(0, 0, 1), lightOn(0, 0, -1));
  assert.ok(lightOn(-0.32, 0.48, 0.817) > lightOn(0.9, 0, 0.1));
  assert.ok(lightOn(0, 0, 1) <= 1 && lightOn(1, 0, 0) > 0.3);
});
