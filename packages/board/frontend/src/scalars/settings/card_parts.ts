/** The parts of a card's chart: its own tags or expression, and the tags that were dropped on it. */
import type { CardSpec } from '../../cards/card.ts';
import type { CurvePart } from './curve_part.ts';
import { partsOfCustomChart } from './custom_charts.ts';
import { isOnRight } from './overlays.ts';

export function partsOfCard(card: CardSpec): CurvePart[] {
  return [
    ...(card.custom ? partsOfCustomChart(card) : [{ tag: card.tag, right: false }]),
    ...card.overlays.map((tag) => ({ tag, right: false })),
  ].map((part, i) => ({ ...part, right: i > 0 && isOnRight(card.id, part.tag.name) }));
}
