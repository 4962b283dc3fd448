/** Charts that the user made: an expression of tags, or all tags that match a pattern on one chart. */

import { computed } from '@preact/signals';
import type { Tag } from '../../api/types.ts';
import type { CardSpec } from '../../cards/card.ts';
import { tags } from '../../state/catalogue.ts';
import { parseMade, tagsOfPattern, variablesOf } from './chart_formula.ts';
import { madeCharts } from './chart_settings.ts';
import type { CurvePart } from './curve_part.ts';

export const scalarTags = computed(() => tags.value.filter((tag) => tag.kind === 'scalar'));

/** The cards of the user's charts; `overlaysOf` returns the tags that were dropped on a card. */
export function madeCards(overlaysOf: (id: string) => Tag[]): CardSpec[] {
  return madeCharts.value.flatMap((text): CardSpec[] => {
    const { kind, text: written } = parseMade(text);
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
        made: { text, kind, tags: of, count },
      },
    ];
  });
}

/** The parts of a user's chart, without the tags that were dropped on it. */
export function partsOfMade({ tag, made }: CardSpec): CurvePart[] {
  const { kind, text } = parseMade(made!.text);
  if (kind === 'pattern') return made!.tags.map((one) => ({ tag: one, right: false }));
  const { text: expression, tags: used } = variablesOf(text, scalarTags.value);
  const variables = Object.fromEntries(used.map((one, i) => [`v${i}`, one.id]));
  return [{ tag, right: false, expression: { text: expression, variables } }];
}

export function removeMade(text: string): void {
  madeCharts.value = madeCharts.value.filter((one) => one !== text);
}
