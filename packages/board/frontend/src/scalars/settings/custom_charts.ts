/** Charts that the user made: an expression of tags, or all tags that match a pattern on one chart. */

import { computed } from '@preact/signals';
import type { Tag } from '../../api/types.ts';
import type { CardSpec } from '../../cards/card.ts';
import { tags } from '../../state/catalogue.ts';
import { parseCustomChart, tagsOfPattern, variablesOf } from './chart_formula.ts';
import { customCharts } from './chart_settings.ts';
import type { CurvePart } from './curve_part.ts';

export const scalarTags = computed(() => tags.value.filter((tag) => tag.kind === 'scalar'));

/** The cards of the user's charts; `overlaysOf` returns the tags that were dropped on a card. */
export function customCards(overlaysOf: (id: string) => Tag[]): CardSpec[] {
  return customCharts.value.flatMap((text): CardSpec[] => {
    const { kind, text: written } = parseCustomChart(text);
    const { tags: of, count } =
      kind === 'expression'
        ? { ...variablesOf(written, scalarTags.value), count: 0 }
        : tagsOfPattern(written, scalarTags.value);
    if (of.length === 0) return [];
    const id = `made:${text}`;
    const own = new Set(kind === 'pattern' ? of.map((tag) => tag.id) : []);
    return [
      {
        id,
        kind: 'scalar',
        tag: { ...of[0]!, name: written, display: '', description: '' },
        overlays: overlaysOf(id).filter((tag) => !own.has(tag.id)),
        run: null,
        custom: { text, kind, tags: of, count },
      },
    ];
  });
}

/** The parts of a user's chart, without the tags that were dropped on it. */
export function partsOfCustomChart({ tag, custom }: CardSpec): CurvePart[] {
  const { kind, text } = parseCustomChart(custom!.text);
  if (kind === 'pattern') return custom!.tags.map((one) => ({ tag: one, right: false }));
  const { text: expression, tags: used } = variablesOf(text, scalarTags.value);
  const variables = Object.fromEntries(used.map((one, i) => [`v${i}`, one.id]));
  return [{ tag, right: false, expression: { text: expression, variables } }];
}

export function removeCustomChart(text: string): void {
  customCharts.value = customCharts.value.filter((one) => one !== text);
}
