/** What one card draws for each run. */
import type { Tag } from '../../api/types.ts';

/** One of the lines, for each run, that a card draws: a tag, or an expression of tags. */
export interface CurvePart {
  tag: Tag;
  right: boolean;
  expression?: { text: string; variables: Record<string, number> };
}

export const tagsOfPart = ({ tag, expression }: CurvePart): number[] =>
  expression ? Object.values(expression.variables) : [tag.id];
