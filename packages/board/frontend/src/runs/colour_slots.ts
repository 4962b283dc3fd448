/** A colour and a dash for each name of a run, the same in every session. */

export const COLOURS = 20;
/** The first of them, which differ most, go first. */
const CLEAREST = 8;
export const DASHES: number[][] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

export interface Slot {
  colour: number;
  dash: number;
}

/** FNV-1a with a final mix; the same text gives the same number everywhere. */
export function hashOf(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

/**
 * A slot for each name: a hash table that does not depend on the order in which names came.
 * Of up to eighty names twenty at most share a dash, so that small sets are solid lines of different colours.
 */
export function assignSlots(names: Iterable<string>): Map<string, Slot> {
  const ordered = [...names].map((name) => ({ name, hash: hashOf(name) }));
  ordered.sort((a, b) => a.hash - b.hash || (a.name < b.name ? -1 : 1));
  const slots = new Map<string, Slot>();
  for (let from = 0; from < ordered.length; from += COLOURS) {
    const taken = new Array<boolean>(COLOURS).fill(false);
    const dash = (from / COLOURS) % DASHES.length;
    ordered.slice(from, from + COLOURS).forEach(({ name, hash }, i) => {
      const [first, size] = i < CLEAREST ? [0, CLEAREST] : [CLEAREST, COLOURS - CLEAREST];
      let at = first + (hash % size);
      while (taken[at]) at = first + ((at - first + 1) % size);
      taken[at] = true;
      slots.set(name, { colour: at, dash });
    });
  }
  return slots;
}
