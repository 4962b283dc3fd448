/** The fields of the Graph page in the address. */
import { type Codec, choice, text } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';
import type { Camera } from '../drawing/camera.ts';
import type { ColourMode } from '../drawing/paint.ts';
import type { Direction } from '../model/reach.ts';

const cameraCodec: Codec<Camera | null> = {
  encode: (c) =>
    c ? `${Math.round(c.x * 10) / 10},${Math.round(c.y * 10) / 10},${Number(c.k.toPrecision(5))}` : '',
  decode: (t) => {
    if (t === '') return null;
    const [x, y, k] = t.split(',').map(Number);
    return [x, y, k].every((v) => Number.isFinite(v)) && k! > 0 ? { x: x!, y: y!, k: k! } : undefined;
  },
};

/**
 * Which graph, by its key; addresses made before there were keys have its title. It comes first, so that
 * reading an address closes the open graph before its other fields apply.
 */
export const graphName = urlSignal<string>('graph', text, '');
export const otherName = urlSignal<string>('other', text, '');
export const viewText = urlSignal<string>('gview', text, '');
export const colourMode = urlSignal<ColourMode>(
  'colour',
  choice('structure', 'device', 'op', 'time', 'memory', 'diff'),
  'structure',
);
export const cameraInUrl = urlSignal<Camera | null>('cam', cameraCodec, null);
export const tracing = urlSignal<Direction | 'none'>(
  'reach',
  choice('none', 'inputs', 'outputs', 'both'),
  'none',
);
