/** How media cards are shown; part of the address. */
import { choice, number } from '../state/url_codec.ts';
import { urlSignal } from '../state/url_state.ts';
import { type CardChoice, type Choices, choicesCodec } from './card_choice.ts';

export type Compare = 'off' | 'wipe' | 'difference';

export const choices = urlSignal<Choices>('media', choicesCodec, {});
export const brightness = urlSignal('bright', number, 1);
export const contrast = urlSignal('contrast', number, 1);
/** 0: as large as its place; else screen pixels per pixel of the image. */
export const zoom = urlSignal('zoom', number, 0);
export const compare = urlSignal<Compare>('compare', choice<Compare>('off', 'wipe', 'difference'), 'off');

export function choiceOf(tag: string): CardChoice {
  return choices.value[tag] ?? {};
}

/** Changes what a card shows; undefined takes a part back. */
export function setChoice(tag: string, change: CardChoice): void {
  const next: CardChoice = { ...choices.peek()[tag], ...change };
  for (const key of Object.keys(next) as (keyof CardChoice)[]) if (next[key] === undefined) delete next[key];
  choices.value = { ...choices.peek(), [tag]: next };
}
