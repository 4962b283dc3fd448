/** The cards that are pinned or as wide as the page, by their ids; part of the address. */
import { list } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';

export const pinnedCards = urlSignal<string[]>('pin', list, []);
export const largeCards = urlSignal<string[]>('big', list, []);

/** The items without one of them, or with it if it is not among them. */
export function toggled(items: string[], item: string): string[] {
  return items.includes(item) ? items.filter((one) => one !== item) : [...items, item];
}
