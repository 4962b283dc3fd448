/** Several tags on one chart: made by dropping a card on another. */
import { sections } from './card_list.ts';
import { overlays } from './view.ts';

/** Puts the tags of one scalar card onto another. */
export function dropCard(from: string, onto: string): void {
  if (from === onto) return;
  for (const section of sections.peek()) {
    const card = section.cards.find((one) => one.id === from);
    if (card?.kind !== 'scalar') continue;
    const added = [card.tag, ...card.overlays].map((tag) => `${onto}=${tag.name}`);
    overlays.value = [...overlays.value, ...added.filter((item) => !overlays.value.includes(item))];
    return;
  }
}

/** `right` puts a further tag on the right axis, with a scale of its own. */
export function setAxis(card: string, tag: string, right: boolean): void {
  overlays.value = overlays.value.map((item) =>
    item === `${card}=${tag}` || item === `${card}==${tag}` ? `${card}=${right ? '=' : ''}${tag}` : item,
  );
}

export const isOnRight = (card: string, tag: string): boolean => overlays.value.includes(`${card}==${tag}`);

export function removeOverlay(card: string, tag: string): void {
  overlays.value = overlays.value.filter((item) => item !== `${card}=${tag}` && item !== `${card}==${tag}`);
}
