import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tag } from '../api/types.ts';
import { meshTag } from './mesh_tags.ts';

const tag = (name: string): Tag => ({
  id: 1,
  name,
  kind: 'mesh',
  plugin: 'mesh',
  display: '',
  description: '',
});

test('a mesh has one card, whichever writer names its parts', () => {
  for (const [vertex, face, color] of [
    ['a/solid_VERTEX', 'a/solid_FACE', 'a/solid_COLOR'],
    ['a/solid_1', 'a/solid_2', 'a/solid_3'],
  ] as const) {
    assert.equal(meshTag(tag(vertex))?.display, 'a/solid');
    assert.equal(meshTag(tag(face)), null);
    assert.equal(meshTag(tag(color)), null);
  }
});
