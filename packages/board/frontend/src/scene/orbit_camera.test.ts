import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  axesOf,
  type Camera,
  cameraCodec,
  frontCamera,
  matrixOf,
  panned,
  projectAll,
  slantCamera,
  turned,
  zoomedAt,
} from './orbit_camera.ts';

const near = (a: number, b: number, tolerance = 1e-3) => assert.ok(Math.abs(a - b) < tolerance, `${a} ${b}`);
const W = 800;
const H = 600;
const seen = (camera: Camera, point: number[], flat = false) => {
  const { x, y, scale } = projectAll(Float32Array.from(point), matrixOf(camera, W, H, flat), W, H);
  return [x[0]!, y[0]!, scale[0]!];
};

test('from the front x is right, y is up, and what is nearer is larger', () => {
  assert.deepEqual(seen(frontCamera, [0, 0, 0]), [400, 300, 1]);
  const [x, y] = seen(frontCamera, [1, 1, 0], true);
  near(x!, 400 + 270);
  near(y!, 300 - 270);
  assert.ok(seen(frontCamera, [0, 0, 0.5])[2]! > 1 && seen(frontCamera, [0, 0, -0.5])[2]! < 1);
});

test('the three axes of any camera are at right angles and of unit length', () => {
  const axes = axesOf(turned(slantCamera, 1.1, 0.2));
  for (let a = 0; a < 3; a++) {
    for (let b = 0; b < 3; b++) {
      near(
        axes[a]!.reduce((sum, v, k) => sum + v * axes[b]![k]!, 0),
        a === b ? 1 : 0,
        1e-12,
      );
    }
  }
});

test('panning moves the picture by as many pixels', () => {
  for (const camera of [frontCamera, slantCamera, { ...slantCamera, zoom: 3 }]) {
    const [x, y] = seen(panned(camera, 37, -21, W, H), [0, 0, 0], true);
    near(x!, 437);
    near(y!, 279);
  }
});

test('zooming keeps the point under the pointer', () => {
  const camera = { ...slantCamera, zoom: 1.7, target: [0.1, -0.2, 0.05] as [number, number, number] };
  const point = [0.3, 0.1, -0.4];
  const [x, y] = seen(camera, point, true);
  const next = zoomedAt(camera, 1.9, x! - W / 2, y! - H / 2, W, H);
  const [nx, ny] = seen(next, point, true);
  near(nx!, x!, 0.01);
  near(ny!, y!, 0.01);
  near(next.zoom, 1.7 * 1.9);
});

test('a camera in the address is the same camera', () => {
  for (const camera of [frontCamera, slantCamera, { ...slantCamera, target: [0.25, -0.5, 0.125] as const }]) {
    const text = cameraCodec.encode(camera as Camera);
    assert.deepEqual(cameraCodec.decode(text), camera);
  }
  for (const wrong of ['', '1,2', 'a,b,c', '1,2,3,4', 'NaN,0,1', ',,']) {
    assert.equal(cameraCodec.decode(wrong), undefined);
  }
});
