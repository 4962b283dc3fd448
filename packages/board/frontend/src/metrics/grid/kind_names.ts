/** Kinds of cards in words. */
import type { Kind } from '../../api/types.ts';

export const KIND_NAMES: Partial<Record<Kind, string>> = {
  scalar: 'charts',
  histogram: 'histograms',
  image: 'images',
  audio: 'audio',
  text: 'text',
  pr_curve: 'PR curves',
  custom_scalars: 'layouts',
  mesh: 'meshes',
  tensor: 'tensors',
};
