/** What changed between two texts, by lines and, within a changed line, by words. */

export interface Piece {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

export interface Line {
  kind: 'same' | 'added' | 'removed';
  pieces: Piece[];
}

const MOST_EDITS = 2000;

/** The lines of both texts in order; changed neighbours also list the words that changed. */
export function diffLines(before: string, after: string): Line[] {
  const edits = diff(before.split('\n'), after.split('\n'));
  const lines = edits.map(({ kind, text }): Line => ({ kind, pieces: [{ kind, text }] }));
  for (let from = 0; from < lines.length; ) {
    if (lines[from]!.kind === 'same') {
      from++;
      continue;
    }
    let to = from;
    while (to < lines.length && lines[to]!.kind !== 'same') to++;
    const block = lines.slice(from, to);
    const removed = block.filter((line) => line.kind === 'removed');
    const added = block.filter((line) => line.kind === 'added');
    for (let i = 0; i < Math.min(removed.length, added.length); i++) markWords(removed[i]!, added[i]!);
    lines.splice(from, to - from, ...removed, ...added);
    from = to;
  }
  return lines;
}

function markWords(removed: Line, added: Line): void {
  const words = diff(wordsOf(removed.pieces[0]!.text), wordsOf(added.pieces[0]!.text));
  const same = words.reduce((sum, { kind, text }) => sum + (kind === 'same' ? text.trim().length : 0), 0);
  if (!same) return; // nothing in common: the whole line changed
  removed.pieces = joined(words.filter(({ kind }) => kind !== 'added'));
  added.pieces = joined(words.filter(({ kind }) => kind !== 'removed'));
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function joined(pieces: Piece[]): Piece[] {
  const out: Piece[] = [];
  for (const piece of pieces) {
    const last = out[out.length - 1];
    if (last?.kind === piece.kind) last.text += piece.text;
    else out.push({ ...piece });
  }
  return out;
}

/** Myers' greedy algorithm; texts that differ in more than MOST_EDITS places count as completely changed. */
export function diff(a: string[], b: string[]): Piece[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  ) {
    end++;
  }
  const piece = (kind: Piece['kind']) => (text: string) => ({ kind, text });
  return [
    ...a.slice(0, start).map(piece('same')),
    ...shortestEdit(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(piece('same')),
  ];
}

function shortestEdit(a: string[], b: string[]): Piece[] {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const trace: Int32Array[] = [];
  let reach = new Int32Array(2 * most + 3);
  const zero = most + 1;
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice());
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[zero + k - 1]! < reach[zero + k + 1]!);
      let x = down ? reach[zero + k + 1]! : reach[zero + k - 1]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[zero + k] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace, zero);
    }
    reach = reach.slice();
  }
  return [
    ...a.map((text): Piece => ({ kind: 'removed', text })),
    ...b.map((text): Piece => ({ kind: 'added', text })),
  ];
}

function walkBack(a: string[], b: string[], trace: Int32Array[], zero: number): Piece[] {
  const out: Piece[] = [];
  let x = a.length;
  let y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d]!;
    const k = x - y;
    const down = k === -d || (k !== d && reach[zero + k - 1]! < reach[zero + k + 1]!);
    const from = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reach[zero + from]!;
    const fromY = d === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY && (d === 0 || x > fromX + Number(!down)) && a[x - 1] === b[y - 1]) {
      out.push({ kind: 'same', text: a[--x]! });
      y--;
    }
    if (d === 0) break;
    if (down) out.push({ kind: 'added', text: b[--y]! });
    else out.push({ kind: 'removed', text: a[--x]! });
  }
  return out.reverse();
}
