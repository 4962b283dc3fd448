/** Merges two changes of one document: by key in objects, by item in lists of texts and numbers. */

/** Applies the changes from base to mine to theirs; where both changed the same value, mine wins. */
export function mergeChanges(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (same(mine, base)) return theirs;
  if (same(theirs, base)) return mine;
  if (isObject(mine) && isObject(theirs)) return joinKeys(isObject(base) ? base : {}, mine, theirs);
  if (isPlainList(mine) && isPlainList(theirs)) return joinItems(isPlainList(base) ? base : [], mine, theirs);
  return mine;
}

/** Whether two documents of JSON say the same, in whatever order their keys are. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => same(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}

type Document = Record<string, unknown>;

function joinKeys(base: Document, mine: Document, theirs: Document): Document {
  const keys = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  const of = (from: Document, key: string) => (Object.hasOwn(from, key) ? from[key] : undefined);
  // A key of the data may be __proto__: fromEntries makes it a key like others.
  return Object.fromEntries(
    [...keys]
      .map((key) => [key, mergeChanges(of(base, key), of(mine, key), of(theirs, key))] as const)
      .filter(([, value]) => value !== undefined),
  );
}

function joinItems(base: unknown[], mine: unknown[], theirs: unknown[]): unknown[] {
  const added = mine.filter((item) => !base.includes(item) && !theirs.includes(item));
  return [...theirs.filter((item) => mine.includes(item) || !base.includes(item)), ...added];
}

function isObject(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlainList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' || typeof item === 'number');
}
