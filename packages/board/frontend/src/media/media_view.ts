/** How media cards are shown; part of the address. */
import { choice, number } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import { type CardChoice, type Choices, choicesCodec } from '../cards/card_choice.ts';

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
export function setChoice(tag: string, change: { [K in keyof CardChoice]: CardChoice[K] | undefined }): void {
  const next: Record<string, unknown> = { ...choices.peek()[tag], ...change };
  for (const key of Object.keys(next)) if (next[key] === undefined) delete next[key];
  choices.value = { ...choices.peek(), [tag]: next as CardChoice };
}

export interface Look {
  zoom: number;
  brightness: number;
  contrast: number;
}

const everyLook = { zoom, brightness, contrast };

/** How the images of a tag look: the card's own look, else the look of all cards. */
export function lookOf(tag: string): Look & { own: boolean } {
  const own = choiceOf(tag);
  return {
    zoom: own.zoom ?? zoom.value,
    brightness: own.brightness ?? brightness.value,
    contrast: own.contrast ?? contrast.value,
    own: own.zoom !== undefined,
  };
}

/** Changes the look of one card if it has its own, else of all. */
export function setLook(tag: string, change: Partial<Look>): void {
  if (lookOf(tag).own) setChoice(tag, change);
  else for (const key of Object.keys(change) as (keyof Look)[]) everyLook[key].value = change[key]!;
}

/** Gives a card the look that it has for its own, or takes it back. */
export function setOwnLook(tag: string, own: boolean): void {
  const { zoom, brightness, contrast } = lookOf(tag);
  if (own) setChoice(tag, { zoom, brightness, contrast });
  else setChoice(tag, { zoom: undefined, brightness: undefined, contrast: undefined });
}
