/** The highlighted points, and the colours of all points. */
import { computed, effect, signal } from '@preact/signals';
import { startWorker } from '../../browser/workers.ts';
import { mixed, type Rgb, rgbOf, scaleColour } from '../../picture/label_colours.ts';
import { PatternSearch } from '../../search/pattern_search.ts';
import { colour, theme, themeVersion } from '../../style/theme.ts';
import {
  focusRow,
  metric,
  neighbourCount,
  pickedRows,
  query,
  queryIsPattern,
  showSprites,
} from '../address/address_fields.ts';
import { type Near, nearestTo } from '../algorithms/neighbours.ts';
import { withText } from '../data/label_search.ts';
import { colouring, labelColumn, pointOfRow, sprite, table } from '../data/projector_data.ts';
import { drawn, values } from '../projection/projection.ts';
import { tilesOf } from './point_scene.ts';

const DIMMED = 0.72;

/** The point that was clicked. */
export const focus = computed<number | null>(() =>
  focusRow.value === null ? null : (pointOfRow.value.get(focusRow.value) ?? null),
);

export const neighbours = computed<Near[]>(() => {
  const shown = table.value;
  const points = values.value;
  if (!shown || !points || focus.value === null) return [];
  return nearestTo(points, shown.count, shown.dims, focus.value, neighbourCount.value, metric.value);
});

/** The points in the selected box or group. */
export const picked = computed<number[]>(() => {
  const places = pointOfRow.value;
  return pickedRows.value.map((row) => places.get(row) ?? -1).filter((i) => i >= 0);
});

export const matches = signal<number[]>([]);
export const searchFailure = signal<string | null>(null);

/** Searches whenever the text changes. Returns: a function that ends this. */
export function followSearch(): () => void {
  let search: PatternSearch<string[], ArrayLike<number>> | null = null;
  let searched: string[] | null = null;
  let turn = 0;
  const end = effect(() => {
    const text = query.value;
    const column = labelColumn.value;
    const mine = ++turn;
    searchFailure.value = null;
    if (!column || text === '' || !queryIsPattern.value) {
      matches.value = column ? withText(column.values, text) : [];
      return;
    }
    if (searched !== column.values) {
      search?.close();
      search = new PatternSearch(column.values, (failed) => startWorker('names', failed));
      searched = column.values;
    }
    void search!.find(text).then((outcome) => {
      if (!outcome || mine !== turn) return;
      matches.value = outcome.kind === 'found' ? Array.from(outcome.found) : [];
      searchFailure.value =
        outcome.kind === 'found'
          ? null
          : outcome.kind === 'invalid'
            ? `${text} is not a regular expression`
            : outcome.text;
    });
  });
  return () => {
    turn++;
    end();
    search?.close();
  };
}

/** The highlighted points, which are drawn above the rest, most important first. */
export const raised = computed<number[]>(() => {
  const found = new Set<number>();
  if (focus.value !== null) {
    found.add(focus.value);
    for (const { index } of neighbours.value) found.add(index);
  }
  for (const i of picked.value) found.add(i);
  if (focus.value === null) for (const i of matches.value) found.add(i);
  return [...found];
});

const groupColours = computed<Rgb[]>(() => {
  void themeVersion.value;
  return Array.from({ length: 20 }, (_, slot) => rgbOf(colour(`run-${slot}`)));
});

const isDark = computed(() => {
  void themeVersion.value;
  void theme.value;
  const [r, g, b] = rgbOf(colour('surface'));
  return r + g + b < 384;
});

export const groupColour = (slot: number): Rgb =>
  slot < 0 ? rgbOf(colour('text-faint')) : groupColours.value[slot % 20]!;
export const shareColour = (share: number): Rgb => scaleColour(share, isDark.value);

/** [count, 4]: the colours of all points, not dimmed. */
const ownColours = computed<Uint8Array>(() => {
  void themeVersion.value;
  const n = table.value?.count ?? 0;
  const out = new Uint8Array(n * 4).fill(255);
  const by = colouring.value;
  const plain = rgbOf(colour('accent'));
  const none = rgbOf(colour('text-faint'));
  for (let i = 0; i < n; i++) {
    const rgb =
      by.kind === 'groups'
        ? groupColour(by.slotOf[i]!)
        : by.kind === 'scale'
          ? Number.isNaN(by.share[i]!)
            ? none
            : shareColour(by.share[i]!)
          : plain;
    out.set(rgb, i * 4);
  }
  return out;
});

export const colourOf = (point: number): Rgb => {
  const all = ownColours.value;
  return [all[point * 4]!, all[point * 4 + 1]!, all[point * 4 + 2]!];
};

export const tiles = computed(() => {
  const shown = table.value;
  const image = sprite.value;
  if (!shown?.info.sprite || !image || !showSprites.value) return null;
  const [width, height] = shown.info.sprite;
  return tilesOf(image, width, height, shown.row);
});

const places = computed(() => drawn.value?.index ?? null);

/** Colours, ranks and tiles in the order of what is drawn. */
export const painted = computed(() => {
  void themeVersion.value;
  const index = places.value;
  const all = ownColours.value;
  const n = index ? index.length : all.length / 4;
  const above = new Set(raised.value);
  const ground = rgbOf(colour('surface'));
  const colours = new Uint8Array(n * 4).fill(255);
  const rank = new Uint8Array(n);
  for (let at = 0; at < n; at++) {
    const i = index ? index[at]! : at;
    rank[at] = above.size === 0 ? 1 : above.has(i) ? 2 : 0;
    const own: Rgb = [all[i * 4]!, all[i * 4 + 1]!, all[i * 4 + 2]!];
    colours.set(rank[at] === 0 ? mixed(own, ground, DIMMED) : own, at * 4);
  }
  const shown = tiles.value;
  const tiled = shown && index ? { ...shown, index: index.map((i) => shown.index[i]!) } : shown;
  return { colours, rank, tiles: tiled };
});
