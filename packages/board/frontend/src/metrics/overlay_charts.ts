/** Several tags on one chart: dropped on it, taken off it, and put on an axis of their own. */
import { computed } from '@preact/signals';
import { sections } from './card_list.ts';
import type { CardSpec } from './cards.ts';
import { type Overlay, overlayItem, parseOverlay } from './overlay_items.ts';
import { overlays } from './view.ts';

const known = computed(() => overlays.value.flatMap((item) => parseOverlay(item) ?? []));

const put = (next: Overlay[]): void => {
  overlays.value = [...new Set(next.map(overlayItem))];
};

/** What a card may give to another: its tags; an expression has none of its own. */
export const canBeDropped = (card: CardSpec): boolean =>
  card.kind === 'scalar' && card.made?.kind !== 'expression';

/** Puts the tags of one scalar card onto another. */
export function dropCard(from: string, onto: CardSpec): void {
  if (from === onto.id) return;
  const card = sections
    .peek()
    .flatMap((section) => section.cards)
    .find((one) => one.id === from);
  if (!card || !canBeDropped(card)) return;
  const there = new Set([...ownTags(onto), ...onto.overlays].map((tag) => tag.id));
  const added = [...ownTags(card), ...card.overlays]
    .filter((tag) => !there.has(tag.id))
    .map((tag) => ({ card: onto.id, tag: tag.name, right: false }));
  put([...known.peek(), ...added]);
}

/** The tags that a card has without what was dropped on it. */
export const ownTags = (card: CardSpec) =>
  card.made ? (card.made.kind === 'pattern' ? card.made.tags : []) : [card.tag];

export const isOnRight = (card: string, tag: string): boolean =>
  known.value.some((one) => one.card === card && one.tag === tag && one.right);

/** Puts a tag on the right axis, with a scale of its own, or back on the left one. */
export function setAxis(card: CardSpec, tag: string, right: boolean): void {
  const rest = known.peek().filter((one) => one.card !== card.id || one.tag !== tag);
  // A tag that the card has of its own needs a word only where it stands on the right.
  const isOwn = ownTags(card).some((one) => one.name === tag);
  put(right || !isOwn ? [...rest, { card: card.id, tag, right }] : rest);
}

export function removeOverlay(card: string, tag: string): void {
  put(known.peek().filter((one) => one.card !== card || one.tag !== tag));
}

/** Forgets all that was dropped on a card. */
export function removeOverlays(card: string): void {
  put(known.peek().filter((one) => one.card !== card));
}
