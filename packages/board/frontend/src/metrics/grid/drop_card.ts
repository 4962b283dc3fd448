/** Drops the tags of one scalar card onto another. */
import { type CardSpec, canBeDropped } from '../../cards/card.ts';
import { addOverlays, ownTags } from '../../scalars/settings/overlays.ts';
import { sections } from './card_list.ts';

/** Puts the tags of the card with id `from` onto another card; nothing happens where one has no tags to give. */
export function dropCard(from: string, onto: CardSpec): void {
  if (from === onto.id) return;
  const card = sections
    .peek()
    .flatMap((section) => section.cards)
    .find((one) => one.id === from);
  if (card && canBeDropped(card)) addOverlays(onto, [...ownTags(card), ...card.overlays]);
}
