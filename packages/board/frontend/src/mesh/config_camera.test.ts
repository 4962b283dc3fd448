import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slantCamera } from '../scene/orbit_camera.ts';
import { cameraOfConfig } from './config_camera.ts';

test('the first camera of a mesh is that of its config', () => {
  const above = cameraOfConfig({ camera: { cls: 'PerspectiveCamera', position: [0, 5, 0] } });
  assert.ok(Math.abs(above.pitch - Math.PI / 2) < 1e-9);
  const side = cameraOfConfig({ camera: { position: { x: 7, y: 1, z: 1 }, target: [1, 1, 1] } });
  assert.ok(Math.abs(side.yaw - Math.PI / 2) < 1e-9 && Math.abs(side.pitch) < 1e-9);
});

test('a config without a usable camera is ignored', () => {
  for (const config of [
    undefined,
    {},
    { camera: 3 },
    { camera: { fov: 75 } },
    { camera: { position: ['1', 2, 3] } },
    { camera: { position: [1, 2] } },
    { camera: { position: [0, 0, 0] } },
  ]) {
    assert.equal(cameraOfConfig(config), slantCamera);
  }
});
