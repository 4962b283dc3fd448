/** The cards that the catalogue, the filter and the chosen runs make. */

import { computed } from '@preact/signals';
import type { Run, Tag } from '../../api/types.ts';
import type { CardSpec } from '../../cards/card.ts';
import { pinnedCards } from '../../cards/card_address.ts';
import { cardKinds, kindOf } from '../../cards/registry.ts';
import { isUserLayout, layouts, layoutTag } from '../../custom/layouts.ts';
import { nameFilter } from '../../runs/run_query.ts';
import { visibleRunIds, visibleRuns } from '../../runs/visible_runs.ts';
import { overlays } from '../../scalars/settings/chart_settings.ts';
import { customCards, scalarTags } from '../../scalars/settings/custom_charts.ts';
import { parseOverlay } from '../../scalars/settings/overlay_items.ts';
import { loaded, runsByTag, seriesKeys, tags } from '../../state/catalogue.ts';
import { kindFilter, showsEmpty, tagFilter } from './grid_address.ts';
import { type Section, sectionsOf } from './tag_tree.ts';

export type CardLeaf = CardSpec & { name: string };

export const cardId = (tag: Tag, run: Run | null): string =>
  `${tag.kind === 'scalar' ? '' : `${tag.kind}:`}${tag.name}${run ? `@${run.name}` : ''}`;

/** The filter of the tags' names: a pattern or letters. */
const filter = computed(() => (tagFilter.value.trim() ? nameFilter(tagFilter.value.trim()) : null));

/** The further tags of each card, in the order in which they were dropped on it. */
const overlaysByCard = computed(() => {
  const found = new Map<string, Tag[]>();
  if (overlays.value.length === 0) return found;
  const byName = new Map(scalarTags.value.map((tag) => [tag.name, tag]));
  for (const item of overlays.value) {
    const one = parseOverlay(item);
    const tag = one && byName.get(one.tag);
    if (tag) found.set(one.card, [...(found.get(one.card) ?? []), tag]);
  }
  return found;
});

const NONE: Tag[] = [];
const overlaysOf = (id: string): Tag[] => overlaysByCard.value.get(id) ?? NONE;

const everyCard = computed(() => {
  const found: CardLeaf[] = [];
  if (!loaded.value) return found;
  const overlaid = overlaysByCard.value;
  for (const stored of tags.value) {
    const kind = kindOf(stored.kind);
    const tag = kind?.tagOf ? kind.tagOf(stored) : stored;
    if (!kind || !tag) continue;
    if (kind.per === 'tag') {
      const id = cardId(tag, null);
      found.push({ id, kind: tag.kind, tag, overlays: overlaid.get(id) ?? NONE, run: null, name: tag.name });
      continue;
    }
    const having = new Set(runsByTag.value.get(tag.id));
    for (const run of visibleRuns.value) {
      if (!having.has(run.id)) continue;
      found.push({ id: cardId(tag, run), kind: tag.kind, tag, overlays: [], run, name: tag.name });
    }
  }
  // Layouts that a user created, beside those that a log has.
  const written = new Set(found.map((card) => card.id));
  for (const name of Object.keys(layouts.value)) {
    const tag = layoutTag(name);
    const id = cardId(tag, null);
    if (!written.has(id)) found.push({ id, kind: tag.kind, tag, overlays: [], run: null, name });
  }
  return found;
});

/** The runs that a card shows. */
export function runsOf(card: CardSpec): Run[] {
  if (card.run) return [card.run];
  if (isUserLayout(card.tag)) return visibleRuns.value;
  const having = new Set<number>();
  for (const tag of [...(card.custom?.tags ?? [card.tag]), ...card.overlays]) {
    for (const run of runsByTag.value.get(tag.id) ?? []) having.add(run);
  }
  return visibleRuns.value.filter((run) => having.has(run.id));
}

export const PINNED = '*pinned';
export const CUSTOM = '*made';

const filtered = computed(() => {
  const kind = kindFilter.value;
  const matches = filter.value?.matches;
  if (!matches && kind === '') return everyCard.value;
  const field = () => undefined;
  const labels = () => [];
  return everyCard.value.filter(
    (card) =>
      (kind === '' || card.kind === kind) && (!matches || matches({ name: card.name, field, labels })),
  );
});

/** The ids of the tags that a chosen run has. */
const tagsWithData = computed(() => {
  const chosen = visibleRunIds.value;
  const found = new Set<number>();
  for (const one of seriesKeys.value) if (chosen.has(one.run)) found.add(one.tag);
  return found;
});

/** Whether a card of one tag shows something of a chosen run. */
function hasData(card: CardLeaf, having: Set<number>): boolean {
  if (card.run || having.has(card.tag.id) || isUserLayout(card.tag)) return true;
  return card.overlays.some((tag) => having.has(tag.id));
}

const split = computed(() => {
  const withData: CardLeaf[] = [];
  let without = 0;
  const having = tagsWithData.value;
  for (const card of filtered.value) {
    if (hasData(card, having)) withData.push(card);
    else without++;
  }
  return { shown: showsEmpty.value ? filtered.value : withData, without };
});

/** The cards that match the filter and have no data of the chosen runs. */
export const emptyCount = computed(() => split.value.without);

/** The error of the filter; null: it is valid. */
export const filterError = computed(() => filter.value?.error ?? null);

/** The sections of the page: what is pinned, custom charts, then the folders of tags. */
export const sections = computed<Section<CardLeaf>[]>(() => {
  const kinds = cardKinds().map((kind) => kind.kind);
  const all = sectionsOf(split.value.shown, kinds);
  const custom = customCards(overlaysOf).map((card) => ({ ...card, name: card.tag.name }));
  if (custom.length > 0)
    all.unshift({ path: CUSTOM, title: 'Your charts', depth: 0, count: custom.length, cards: custom });
  if (pinnedCards.value.length === 0) return all;
  const byId = new Map([...everyCard.value, ...custom].map((card) => [card.id, card]));
  const cards = pinnedCards.value.flatMap((id) => byId.get(id) ?? []);
  if (cards.length === 0) return all;
  return [{ path: PINNED, title: 'Pinned', depth: 0, count: cards.length, cards }, ...all];
});

/** The number of cards of all tags, and of those that match the filter. */
export const cardCount = computed(() => everyCard.value.length);
export const matchedCount = computed(() => filtered.value.length);

/** The kinds of which there are cards. */
export const shownKinds = computed(() => {
  const there = new Set(everyCard.value.map((card) => card.kind));
  return cardKinds()
    .map((kind) => kind.kind)
    .filter((kind) => there.has(kind));
});
