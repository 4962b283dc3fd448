/** The sections and cards of the grid, and where they lie. */
import { computed, signal } from '@preact/signals';
import { FRAME_HEIGHT } from '../../cards/card.ts';
import { largeCards } from '../../cards/card_address.ts';
import { kindOf } from '../../cards/registry.ts';
import { RANGE_TABLE_HEIGHT } from '../../scalars/range_values.ts';
import { tableCards } from '../../scalars/settings/chart_settings.ts';
import { PINNED, sections } from './card_list.ts';
import { cardWidth, shutFolders } from './grid_address.ts';
import { layOut } from './grid_layout.ts';
import { isInShut } from './tag_tree.ts';

/** The heights that bodies need, by id of card. */
export const bodyHeights = signal<ReadonlyMap<string, number>>(new Map());
export const gridWidth = signal(0);

export const shownSections = computed(() => {
  const shut = new Set(shutFolders.value);
  return sections.value.filter((section) => !isInShut(section.path, shut));
});

export const layout = computed(() => {
  const shut = new Set(shutFolders.value);
  const large = new Set(largeCards.value);
  const tables = new Set(tableCards.value);
  const heights = bodyHeights.value;
  return layOut(
    shownSections.value.map((section) => ({
      path: section.path,
      shut: shut.has(section.path),
      cards: section.cards.map((card) => {
        const kind = kindOf(card.kind)!;
        const table = tables.has(card.id) ? RANGE_TABLE_HEIGHT : 0;
        const needed = heights.get(card.id) ?? 0;
        return {
          id: card.id,
          large: large.has(card.id),
          height: Math.max(kind.height + table, needed) + FRAME_HEIGHT,
          tall: Math.max(kind.tall + table, needed) + FRAME_HEIGHT,
          row: section.path === PINNED ? '' : card.kind,
        };
      }),
    })),
    gridWidth.value,
    cardWidth.value,
  );
});

export const cardsById = computed(
  () => new Map(sections.value.flatMap((s) => s.cards.map((card) => [card.id, card]))),
);
