/** Finds words in texts, without case. */

import { count, counted } from '../units/numbers.ts';

export interface Found {
  text: string;
  hit: boolean;
}

/** A text cut where the words searched for begin and end. */
export function cutAtHits(text: string, search: string): Found[] {
  if (!search) return text ? [{ text, hit: false }] : [];
  const pattern = new RegExp(search.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'giu');
  const parts: Found[] = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index), hit: false });
    parts.push({ text: match[0], hit: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), hit: false });
  return parts;
}

/** The summary of a search: how many steps match, how many are listed, and what was not searched. */
export function describeHits(
  found: { total: number; rows: unknown[]; searched: number; complete: boolean }[],
): string {
  const sum = (of: (one: (typeof found)[number]) => number) => found.reduce((all, one) => all + of(one), 0);
  const total = sum((one) => one.total);
  const listed = sum((one) => one.rows.length);
  const searched = sum((one) => one.searched);
  const steps = (n: number) => counted(n, 'step');
  const whole = found.every((one) => one.complete);
  const where = whole ? '' : ` of the ${count(searched)} searched; the search took too long to look into all`;
  if (total === 0) return whole ? 'Not found in any step.' : `Not found in any step${where}.`;
  const some = listed < total ? ` The first ${count(listed)} are listed.` : '';
  return `Found in ${steps(total)}${where}.${some}`;
}
