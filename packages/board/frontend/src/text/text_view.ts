/** How texts are shown; part of the address. */
import { choice, flag } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';

export type TextMode = 'markdown' | 'plain' | 'raw';
export const textMode = urlSignal<TextMode>('text', choice<TextMode>('markdown', 'plain', 'raw'), 'markdown');
export const textDiff = urlSignal('textdiff', flag, false);
