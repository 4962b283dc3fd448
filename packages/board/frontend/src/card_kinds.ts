/** Every kind of card. The code of a kind is fetched when one of its cards comes into view. */
import type { CardKind } from './cards/card.ts';
import { meshTag } from './mesh/mesh_tags.ts';

/** In their order within a folder of tags. */
export const cardKinds: CardKind[] = [
  { kind: 'scalar', per: 'tag', height: 236, tall: 480, load: () => import('./scalars/scalar_card.tsx') },
  {
    kind: 'histogram',
    per: 'tag',
    height: 236,
    tall: 480,
    load: () => import('./histograms/histogram_card.tsx'),
  },
  { kind: 'image', per: 'tag', height: 300, tall: 620, load: () => import('./media/images/image_card.tsx') },
  { kind: 'audio', per: 'tag', height: 160, tall: 160, load: () => import('./media/audio/audio_card.tsx') },
  { kind: 'text', per: 'tag', height: 240, tall: 480, load: () => import('./text/text_card.tsx') },
  {
    kind: 'pr_curve',
    per: 'tag',
    height: 300,
    tall: 520,
    load: () => import('./pr_curves/pr_curve_card.tsx'),
  },
  {
    kind: 'custom_scalars',
    per: 'tag',
    height: 280,
    tall: 280,
    // Every log has its layouts under the same tag, which says nothing to a reader.
    tagOf: (tag) =>
      tag.name === 'custom_scalars__config__' ? { ...tag, display: tag.display || 'Custom scalars' } : tag,
    load: () => import('./custom/custom_card.tsx'),
  },
  {
    kind: 'mesh',
    per: 'run',
    height: 320,
    tall: 620,
    tagOf: meshTag,
    load: () => import('./mesh/mesh_card.tsx'),
  },
  {
    kind: 'tensor',
    per: 'tag',
    height: 160,
    tall: 320,
    // The Graph page shows the models of Keras.
    tagOf: (tag) => (tag.plugin === 'graph_keras_model' ? null : tag),
    load: () => import('./tensors/tensor_card.tsx'),
  },
];
