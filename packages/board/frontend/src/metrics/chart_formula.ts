/** What the user writes to make a chart: a pattern of tags, or = and an expression of them. */
import type { Tag } from '../api/types.ts';

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
  const text = braces.replace(/[A-Za-z_][\w.]*(?:\/[A-Za-z_][\w.]*)*(?![\w./]|\s*\()/g, (name) => {
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
