/** The settings of all histogram cards, in the address. */
import { choice, flag } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import type { Mode, StepAxis } from './histogram_scene.ts';

export const histogramMode = urlSignal<Mode>(
  'hist',
  choice<Mode>('offset', 'overlay', 'heat', 'distribution'),
  'offset',
);
export const histogramAxis = urlSignal<StepAxis>(
  'histx',
  choice<StepAxis>('step', 'relative', 'wall'),
  'step',
);
export const histogramLog = urlSignal('histlog', flag, false);
export const histogramApart = urlSignal('histruns', flag, true);
