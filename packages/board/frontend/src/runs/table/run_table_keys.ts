/** The keys of the table of runs: arrows go through the rows, Space shows and hides, Enter shows only this. */
import type { RefObject } from 'preact';
import { hoveredRun } from '../../state/selection.ts';
import { showOnly } from '../visible_runs.ts';
import type { Row } from './run_tree.ts';
import { active, inspect, ROW, rows, toggleFolder, toggleRow } from './table_rows.ts';

/** `height` is that of the visible rows, in CSS pixels. */
export function runTableKeys(
  scroller: RefObject<HTMLElement | null>,
  height: number,
): (event: KeyboardEvent) => void {
  const page = Math.floor(height / ROW) - 1;
  return (event) => {
    const all = rows.value;
    const row = all[active.value];
    const places: Record<string, number> = {
      ArrowDown: active.value + 1,
      ArrowUp: active.value - 1,
      PageDown: active.value + page,
      PageUp: active.value - page,
      Home: 0,
      End: all.length - 1,
    };
    const to = places[event.key];
    if (to !== undefined) goTo(to, scroller.current!);
    else if (!onRowKey(row, event.key)) return;
    event.preventDefault();
  };
}

/** Makes a row the active one and scrolls it into view. */
function goTo(to: number, scroller: HTMLElement): void {
  const all = rows.value;
  active.value = Math.max(0, Math.min(all.length - 1, to));
  const y = active.value * ROW;
  if (y < scroller.scrollTop) scroller.scrollTop = y;
  if (y + ROW > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = y + ROW - scroller.clientHeight;
  const row = all[active.value];
  hoveredRun.value = row?.kind === 'run' ? row.run.id : null;
}

/** Returns: whether the key is one of the table's. */
function onRowKey(row: Row | undefined, key: string): boolean {
  switch (key) {
    case ' ':
      if (row) toggleRow(row);
      return true;
    case 'Enter':
      if (row?.kind === 'folder') toggleFolder(row.path);
      else if (row) showOnly([row.run.name]);
      return true;
    case 'ArrowRight':
    case 'ArrowLeft':
      if (row?.kind === 'folder' && row.open === (key === 'ArrowLeft')) toggleFolder(row.path);
      return true;
    case 'i':
      if (row?.kind === 'run') inspect(row.run);
      return true;
    default:
      return false;
  }
}
