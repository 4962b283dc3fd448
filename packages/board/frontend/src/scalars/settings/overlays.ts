/** Several tags on one chart: dropped on it, taken off it, and put on an axis of their own. */

import { computed } from '@preact/signals';
import type { Tag } from '../../api/types.ts';
import type { CardSpec } from '../../cards/card.ts';
import { overlays } from './chart_settings.ts';
import { type Overlay, overlayItem, parseOverlay } from './overlay_items.ts';

const known = computed(() => overlays.value.flatMap((item) => parseOverlay(item) ?? []));

const put = (next: Overlay[]): void => {
  overlays.value = [...new Set(next.map(overlayItem))];
};

/** The card's own tags, without those that were dropped on it. */
export const ownTags = (card: CardSpec) =>
  card.custom ? (card.custom.kind === 'pattern' ? card.custom.tags : []) : [card.tag];

/** Puts further tags on a card's chart; those that it shows already stay as they are. */
export function addOverlays(card: CardSpec, tags: Tag[]): void {
  const shown = new Set([...ownTags(card), ...card.overlays].map((tag) => tag.id));
  const added = tags
    .filter((tag) => !shown.has(tag.id))
    .map((tag) => ({ card: card.id, tag: tag.name, right: false }));
  put([...known.peek(), ...added]);
}

export const isOnRight = (card: string, tag: string): boolean =>
  known.value.some((one) => one.card === card && one.tag === tag && one.right);

/** Puts a tag on the right axis, which has its own scale, or back on the left one. */
export function setAxis(card: CardSpec, tag: string, right: boolean): void {
  const rest = known.peek().filter((one) => one.card !== card.id || one.tag !== tag);
  // The card's own tags are in the address only while they are on the right axis.
  const isOwn = ownTags(card).some((one) => one.name === tag);
  put(right || !isOwn ? [...rest, { card: card.id, tag, right }] : rest);
}

export function removeOverlay(card: string, tag: string): void {
  put(known.peek().filter((one) => one.card !== card || one.tag !== tag));
}

/** Removes all tags that were dropped on a card. */
export function removeOverlays(card: string): void {
  put(known.peek().filter((one) => one.card !== card));
}
