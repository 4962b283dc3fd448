/** The sections and cards of the grid, and where they lie. */
import { computed, signal } from '@preact/signals';
import { FRAME_HEIGHT } from '../../cards/card.ts';
import { largeCards } from '../../cards/card_address.ts';
import { kindOf } from '../../cards/registry.ts';
import { RANGE_TABLE_HEIGHT } from '../../scalars/range_values.ts';
import { tableCards } from '../../scalars/settings/chart_settings.ts';
import { panelsAt } from '../panels/panel_store.ts';
import { ABOVE } from '../panels/panels.ts';
import { type CardLeaf, PINNED, sections } from './card_list.ts';
import { cardWidth, shutFolders } from './grid_address.ts';
import { type GridLayout, layOut, type Placed } from './grid_layout.ts';
import { isInShut } from './tag_tree.ts';

/** Of a panel before it is measured. */
const PANEL_HEIGHT = 80;

/** The key of a panel's height in `bodyHeights`. */
export const panelKey = (id: string): string => `*panel ${id}`;

/** The heights that bodies need, by id of card. */
export const bodyHeights = signal<ReadonlyMap<string, number>>(new Map());
export const gridWidth = signal(0);

export const shownSections = computed(() => {
  const shut = new Set(shutFolders.value);
  return sections.value.filter((section) => !isInShut(section.path, shut));
});

export const layout = computed((): GridLayout => {
  // Before the width is known nothing is in sight, and a hundred thousand cards take a while.
  if (gridWidth.value === 0) return { items: [], height: 0, columns: 1 };
  const shut = new Set(shutFolders.value);
  const large = new Set(largeCards.value);
  const tables = new Set(tableCards.value);
  const heights = bodyHeights.value;
  const panelsOf = (place: string) =>
    panelsAt(place).map(({ id }) => ({ id, height: heights.get(panelKey(id)) ?? PANEL_HEIGHT }));
  return layOut(
    shownSections.value.map((section) => ({
      path: section.path,
      shut: shut.has(section.path),
      panels: panelsOf(section.path),
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
    panelsOf(ABOVE),
  );
});

/** The card of an item, which was placed in the sections as they are. */
export const cardOf = ({ section, index, id }: Placed): CardLeaf | undefined => {
  const card = shownSections.value[section]?.cards[index];
  return card?.id === id ? card : undefined;
};
