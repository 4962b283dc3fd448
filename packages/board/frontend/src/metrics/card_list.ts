/** The cards that the catalogue, the filter and the chosen runs make. */
import { computed } from '@preact/signals';
import type { Run, Tag } from '../api/types.ts';
import { nameFilter } from '../runs/run_query.ts';
import { visibleRuns } from '../runs/visible_runs.ts';
import { loaded, seriesByTag, tags } from '../state/catalogue.ts';
import { type CardSpec, cardKinds, kindOf } from './cards.ts';
import { madeCards } from './made_charts.ts';
import { type Section, sectionsOf } from './tag_tree.ts';
import { overlays, pinnedCards, tagFilter } from './view.ts';

export type CardLeaf = CardSpec & { name: string };

export const cardId = (tag: Tag, run: Run | null): string =>
  `${tag.kind === 'scalar' ? '' : `${tag.kind}:`}${tag.name}${run ? `@${run.name}` : ''}`;

export const filterError = computed(() => (tagFilter.value ? nameFilter(tagFilter.value).error : null));

const matchesFilter = computed(() => {
  const filter = tagFilter.value.trim();
  if (!filter) return () => true;
  const { matches } = nameFilter(filter);
  return (name: string) => matches({ name, field: () => undefined });
});

const tagsByName = computed(
  () => new Map(tags.value.filter((tag) => tag.kind === 'scalar').map((tag) => [tag.name, tag])),
);

/** The further tags of a card, in the order in which they were dropped on it. */
function overlaysOf(id: string): Tag[] {
  const found: Tag[] = [];
  for (const item of overlays.value) {
    const at = item.indexOf('=');
    if (item.slice(0, at) !== id) continue;
    const tag = tagsByName.value.get(item.slice(at + 1).replace(/^=/, ''));
    if (tag) found.push(tag);
  }
  return found;
}

const everyCard = computed(() => {
  const found: CardLeaf[] = [];
  if (!loaded.value) return found;
  for (const stored of tags.value) {
    const kind = kindOf(stored.kind);
    const tag = kind?.tagOf ? kind.tagOf(stored) : stored;
    if (!kind || !tag) continue;
    if (kind.per === 'tag') {
      const id = cardId(tag, null);
      found.push({ id, kind: tag.kind, tag, overlays: overlaysOf(id), run: null, name: tag.name });
      continue;
    }
    const having = new Set((seriesByTag.value.get(tag.id) ?? []).map((one) => one.run));
    for (const run of visibleRuns.value) {
      if (!having.has(run.id)) continue;
      found.push({ id: cardId(tag, run), kind: tag.kind, tag, overlays: [], run, name: tag.name });
    }
  }
  return found;
});

/** The runs that a card shows. */
export function runsOf(card: CardSpec): Run[] {
  if (card.run) return [card.run];
  const having = new Set<number>();
  for (const tag of [...(card.made?.tags ?? [card.tag]), ...card.overlays]) {
    for (const one of seriesByTag.value.get(tag.id) ?? []) having.add(one.run);
  }
  return visibleRuns.value.filter((run) => having.has(run.id));
}

export const PINNED = '*pinned';
export const MADE = '*made';

/** The sections of the page: what is pinned, then the folders of tags. */
export const sections = computed<Section<CardLeaf>[]>(() => {
  const matches = matchesFilter.value;
  const shown = everyCard.value.filter((card) => matches(card.name));
  const kinds = cardKinds.map((kind) => kind.kind);
  const all = sectionsOf(shown, kinds);
  const made = madeCards().map((card) => ({ ...card, name: card.tag.name }));
  if (made.length > 0)
    all.unshift({ path: MADE, title: 'Your charts', depth: 0, count: made.length, cards: made });
  if (pinnedCards.value.length === 0) return all;
  const byId = new Map([...everyCard.value, ...made].map((card) => [card.id, card]));
  const cards = pinnedCards.value.flatMap((id) => byId.get(id) ?? []);
  if (cards.length === 0) return all;
  return [{ path: PINNED, title: 'Pinned', depth: 0, count: cards.length, cards }, ...all];
});

export const cardCount = computed(() => everyCard.value.length);
export const shownCount = computed(() => sections.value.reduce((sum, s) => sum + s.cards.length, 0));
