/** The fields of the projector in the address. */
import { signal } from '@preact/signals';
import type { Codec } from '../../address/url_codec.ts';
import { choice, flag, list, number, optionalNumber, text } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';
import { cameraCodec, slantCamera } from '../../scene/orbit_camera.ts';
import { rowsCodec } from './row_ranges.ts';

export const METHODS = ['pca', 'tsne', 'umap', 'custom'] as const;
export type Method = (typeof METHODS)[number];

const within = (least: number, most: number): Codec<number> => ({
  encode: number.encode,
  decode: (t) => {
    const value = number.decode(t);
    return value === undefined ? undefined : Math.max(least, Math.min(most, value));
  },
});

const threeIndices: Codec<number[]> = {
  encode: (v) => v.join(','),
  decode: (t) => (/^\d(,\d){2}$/.test(t) ? t.split(',').map(Number) : undefined),
};

/** `folder|name`; '' is the first embedding. */
export const shownEmbedding = urlSignal('pj', text, '');
export const method = urlSignal<Method>('pjm', choice(...METHODS), 'pca');
export const dimensions = urlSignal<'2' | '3'>('pjd', choice('2', '3'), '3');
export const components = urlSignal('pjc', threeIndices, [0, 1, 2]);
export const spherical = urlSignal('pjn', flag, false);
/** Names of columns; '' is the first suitable one, '-' none. */
export const colourBy = urlSignal('pjby', text, '');
export const labelBy = urlSignal('pjl', text, '');
export const showLabels = urlSignal('pjt', flag, false);
export const showSprites = urlSignal('pji', flag, true);
export const perplexity = urlSignal('pjpp', within(2, 100), 30);
/** 0 chooses it by the number of points. */
export const learningRate = urlSignal('pjlr', within(0, 10_000), 0);
export const umapNeighbours = urlSignal('pjun', within(2, 100), 15);
export const umapDistance = urlSignal('pjud', within(0, 1), 0.1);
export const metric = urlSignal<'cosine' | 'euclidean'>('pjx', choice('cosine', 'euclidean'), 'cosine');
export const neighbourCount = urlSignal('pjk', within(1, 200), 12);
/** The row of the tensor that was clicked. */
export const focusRow = urlSignal<number | null>('pjat', optionalNumber, null);
export const pickedRows = urlSignal('pjsel', rowsCodec, []);
export const query = urlSignal('pjq', text, '');
export const queryIsPattern = urlSignal('pjqr', flag, false);
/** Left and right of the x axis, then bottom and top of the y axis. */
export const customWords = urlSignal('pjw', list, []);
export const camera = urlSignal('pjcam', cameraCodec, slantCamera);
/** Uses a 2-D canvas even where WebGL2 is available, because some drivers are faulty. */
export const plainCanvas = urlSignal('pj2d', flag, false);

export const hoveredPoint = signal<number | null>(null);
/** Draws boxes that select instead of turning the view. */
export const boxTool = signal(false);
