import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bookmarkedViews } from './bookmarks.ts';

test('a state of TensorBoard is a view', () => {
  const [view] = bookmarkedViews([
    {
      label: 'two groups',
      selectedProjection: 'tsne',
      tSNEis3d: false,
      tSNEPerplexity: 1000,
      tSNELearningRate: 10,
      pcaComponentDimensions: [0, 3],
      selectedPoints: [4, 9],
      selectedColorOptionName: 'group',
      selectedLabelOption: 'word',
      cameraDef: { orthographic: true, position: [0, 0, 5], target: [0, 0, 0], zoom: 1.2 },
    },
  ]);
  assert.deepEqual(view, {
    title: 'two groups',
    method: 'tsne',
    dimensions: '2',
    components: [0, 3, 2],
    perplexity: 100,
    learningRate: 10,
    selected: [4, 9],
    colourBy: 'group',
    labelBy: 'word',
    camera: { yaw: 0, pitch: 0, zoom: 1, target: [0, 0, 0] },
  });
});

test('malformed states are ignored', () => {
  assert.deepEqual(bookmarkedViews({ label: 'x' }), []);
  assert.deepEqual(bookmarkedViews([null, 3, 'x']), []);
  assert.deepEqual(
    bookmarkedViews([
      { label: 3, selectedProjection: 'rm', selectedPoints: ['a', 1], cameraDef: { position: [0, 0, 0] } },
    ]),
    [{ title: 'Bookmark 1', selected: [1] }],
  );
});
