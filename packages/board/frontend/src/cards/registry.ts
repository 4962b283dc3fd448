/** The registered kinds of cards. The entry point registers them; a card's folder does not import this module. */
import type { Kind } from '../api/types.ts';
import type { CardKind } from './card.ts';

let registered: CardKind[] = [];
let byKind = new Map<Kind, CardKind>();

/** Registers every kind of card, in their order within a folder of tags. */
export function registerCardKinds(kinds: CardKind[]): void {
  registered = kinds;
  byKind = new Map(kinds.map((one) => [one.kind, one]));
}

export const cardKinds = (): CardKind[] => registered;

export const kindOf = (kind: Kind): CardKind | undefined => byKind.get(kind);
