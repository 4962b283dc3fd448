/** Charts that the user made: an expression of tags, or all tags that match a pattern on one chart. */
import type { Tag } from '../api/types.ts';
import { tags } from '../state/catalogue.ts';
import type { CardSpec } from './cards.ts';
import type { MadeOf } from './scalar_query.ts';
import { madeCharts } from './view.ts';

export const MOST_TAGS = 12;

/** A chart as it is written by the user: `re:PATTERN`, or `=EXPRESSION` of tags in braces or plain names. */
export interface Made {
  text: string;
  kind: 'pattern' | 'expression';
}

export function parseMade(text: string): Made {
  return text.startsWith('=')
    ? { text: text.slice(1).trim(), kind: 'expression' }
    : { text, kind: 'pattern' };
}

/** The names that an expression speaks of, as the tags that they mean: whole names, or their last parts. */
export function variablesOf(
  expression: string,
  known: Tag[],
): { text: string; tags: Tag[]; missing: string[] } {
  const found: Tag[] = [];
  const missing: string[] = [];
  const byName = (name: string) =>
    known.find((t) => t.name === name) ??
    known.find((t) => t.name.slice(t.name.lastIndexOf('/') + 1) === name);
  const letter = (tag: Tag) => {
    let at = found.indexOf(tag);
    if (at < 0) at = found.push(tag) - 1;
    return `v${at}`;
  };
  // Whole names of tags first: they may hold "/" and "-".
  const braces = expression.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const tag = byName(name.trim());
    if (!tag) missing.push(name);
    return tag ? letter(tag) : name;
  });
  const text = braces.replace(/[A-Za-z_][\w.]*(?:\/[A-Za-z_][\w.]*)*(?!\s*\()/g, (name) => {
    if (/^v\d+$/.test(name)) return name;
    const whole = byName(name);
    if (whole) return letter(whole);
    // a/b may be a quotient of two tags.
    const parts = name.split('/').map((part) => {
      const tag = byName(part);
      if (!tag && !/^(e|pi|inf|nan)$/.test(part)) missing.push(part);
      return tag ? letter(tag) : part;
    });
    return parts.join('/');
  });
  return { text, tags: found, missing };
}

export function tagsOfPattern(pattern: string, known: Tag[]): Tag[] {
  try {
    const regex = new RegExp(pattern);
    return known.filter((tag) => regex.test(tag.name)).slice(0, MOST_TAGS);
  } catch {
    return [];
  }
}

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
