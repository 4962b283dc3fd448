/** Places the auxiliary nodes of a group in columns beside its main graph. */

const GAP = 10;
const COLUMN_GAP = 16;
const LEAST_COLUMN_WIDTH = 76;
const LEAST_COLUMN_HEIGHT = 420;
/** Height of the heading above the columns. */
export const AUXILIARY_HEADING = 22;

export interface AuxiliaryItem {
  label: string;
  /** How many edges it has. */
  degree: number;
  width: number;
  height: number;
}

export interface AuxiliaryStrip {
  /** Corners of each item, relative to the first column. */
  left: number[];
  top: number[];
  width: number;
  height: number;
}

/**
 * Places items with the most edges first.
 *
 * Args:
 *   room: the height of the main graph, which the columns fill.
 * Returns: null without items.
 */
export function placeAuxiliary(items: AuxiliaryItem[], room: number): AuxiliaryStrip | null {
  if (items.length === 0) return null;
  const most = Math.max(room - AUXILIARY_HEADING, LEAST_COLUMN_HEIGHT);
  const left = new Array<number>(items.length).fill(0);
  const top = new Array<number>(items.length).fill(0);
  let x = 0;
  let y = 0;
  let column = 0;
  let tallest = 0;
  let inColumn: number[] = [];
  const close = () => {
    for (const i of inColumn) left[i] = x + (column - items[i]!.width) / 2;
    x += column + COLUMN_GAP;
    inColumn = [];
    column = 0;
    y = 0;
  };
  for (const i of byDegree(items)) {
    const { width, height } = items[i]!;
    if (y > 0 && y + height > most) close();
    top[i] = y;
    y += height + GAP;
    column = Math.max(column, width, LEAST_COLUMN_WIDTH);
    tallest = Math.max(tallest, y - GAP);
    inColumn.push(i);
  }
  close();
  return { left, top, width: x - COLUMN_GAP, height: tallest + AUXILIARY_HEADING };
}

function byDegree(items: AuxiliaryItem[]): number[] {
  return items
    .map((_, i) => i)
    .sort((a, b) => items[b]!.degree - items[a]!.degree || (items[a]!.label < items[b]!.label ? -1 : 1));
}
