/** Which cards the Metrics page shows, and how it lays them out; part of the address. */
import { flag, number, text } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';

/** Regular expression, or letters in order; "" shows every tag. */
export const tagFilter = urlSignal('q', text, '');
/** How far the cards are scrolled. */
export const scrolled = urlSignal('top', number, 0);
/** Least width of a card. */
export const cardWidth = urlSignal('w', number, 380);
/** Whether cards without data of the chosen runs are shown too. */
export const showsEmpty = urlSignal('empty', flag, false);
/** Only cards of one kind; "" is all. */
export const kindFilter = urlSignal('kind', text, '');
