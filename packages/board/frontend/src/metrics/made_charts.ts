/** Charts that the user made: an expression of tags, or all tags that match a pattern on one chart. */
import type { Tag } from '../api/types.ts';
import { tags } from '../state/catalogue.ts';
import type { CardSpec } from './cards.ts';
import { parseMade, tagsOfPattern, variablesOf } from './chart_formula.ts';
import type { MadeOf } from './scalar_query.ts';
import { madeCharts } from './view.ts';

const scalarTags = (): Tag[] => tags.value.filter((tag) => tag.kind === 'scalar');

/** The cards of the charts that were made. */
export function madeCards(): CardSpec[] {
  const known = scalarTags();
  return madeCharts.value.flatMap((text): CardSpec[] => {
    const made = parseMade(text);
    const of =
      made.kind === 'expression' ? variablesOf(made.text, known).tags : tagsOfPattern(made.text, known);
    if (of.length === 0) return [];
    const tag = { ...of[0]!, name: made.text, display: '', description: '' };
    return [{ id: `made:${text}`, kind: 'scalar', tag, overlays: [], run: null, made: { text, tags: of } }];
  });
}

/** What a made card draws. */
export function partsOfMade(card: CardSpec): MadeOf[] {
  const { text, tags: of } = card.made!;
  const made = parseMade(text);
  if (made.kind === 'pattern') return of.map((tag) => ({ tag, right: false }));
  const { text: expression, tags: used } = variablesOf(made.text, scalarTags());
  const variables = Object.fromEntries(used.map((tag, i) => [`v${i}`, tag.id]));
  return [{ tag: card.tag, right: false, expression: { text: expression, variables } }];
}

export function removeMade(text: string): void {
  madeCharts.value = madeCharts.value.filter((one) => one !== text);
}
