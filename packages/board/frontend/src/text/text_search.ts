/** Finds words in texts, without case. */

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

export function holds(text: string, search: string): boolean {
  return !search || text.toLocaleLowerCase().includes(search.toLocaleLowerCase());
}
