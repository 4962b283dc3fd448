/** How runs are grouped; part of the address. */
import { choice, text } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';

/** "" no groups; "folder"; "all"; "re:PATTERN" by its first group (or match); "hp:NAME" by a hyperparameter. */
export const groupBy = urlSignal('g', text, '');
/** "each": every run is drawn, in the colour of its group. */
export const groupCenter = urlSignal<'mean' | 'median' | 'each'>(
  'gc',
  choice('mean', 'median', 'each'),
  'mean',
);
