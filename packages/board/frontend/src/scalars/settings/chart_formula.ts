/** What the user writes to make a chart: a pattern of tags, or = and an expression of them. */
import type { Tag } from '../../api/types.ts';
import { patternOf } from '../../strings/pattern.ts';

/** Tags on one chart. */
export const MOST_TAGS = 32;
/** What the server's expressions know (series/expression.py). */
export const FUNCTIONS = ['log', 'log2', 'log10', 'abs', 'sqrt', 'exp', 'min', 'max'];

/** A chart as it was written: `PATTERN` of tags, or `=EXPRESSION` of tags by name, or in braces. */
export interface CustomChart {
  text: string;
  kind: 'pattern' | 'expression';
}

export function parseCustomChart(text: string): CustomChart {
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
  const plain = (name: string): string => {
    const whole = byName(name);
    if (whole) return letter(whole);
    // a/b may be a quotient of two tags.
    const parts = name.split('/').map((part) => {
      const tag = byName(part);
      if (!tag) missing.push(part);
      return tag ? letter(tag) : part;
    });
    return parts.join('/');
  };
  // Names in braces may hold any character; a number such as 2e-3 is no name.
  const text = expression.replace(
    /\{([^}]*)\}|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|([a-z_][\w.]*(?:\/[a-z_][\w.]*)*)(?![\w./]|\s*\()/gi,
    (all, inBraces: string | undefined, name: string | undefined) => {
      if (name !== undefined) return plain(name);
      if (inBraces === undefined) return all;
      const tag = byName(inBraces.trim());
      if (!tag) missing.push(inBraces);
      return tag ? letter(tag) : all;
    },
  );
  return { text, tags: found, missing };
}

/** The tags that a pattern matches, at most MOST_TAGS of them; `count` is of all. */
export function tagsOfPattern(
  source: string,
  known: Tag[],
): { tags: Tag[]; count: number; error: string | null } {
  const pattern = patternOf(source);
  const all = known.filter((tag) => pattern.test(tag.name));
  return { tags: all.slice(0, MOST_TAGS), count: all.length, error: pattern.error };
}
