/** window.__board.trace: what the Trace page shows. */
import { expose } from '../shell/test_hook.ts';
import { frameTimes, lastDrawn } from './lanes_view.tsx';
import { layoutOf } from './trace_rects.ts';
import { found } from './trace_search.ts';
import {
  chosen,
  colouring,
  comparedSteps,
  mainTrace,
  rows,
  sections,
  selectedArea,
  selectedSlice,
  showCritical,
  timeView,
} from './trace_state.ts';

expose('trace', () => {
  const model = mainTrace.peek();
  const summary = model?.summary.peek();
  return {
    chosen: chosen.peek() && { ...chosen.peek() },
    compared: [...comparedSteps.peek()],
    view: { ...timeView.peek() },
    colouring: colouring.peek(),
    critical: showCritical.peek(),
    sections: sections.peek().map(({ trace, title, duration }) => ({ trace, title, duration })),
    rows: rows.peek().map((row) => ({ ...row, lanes: [...row.lanes] })),
    selected: selectedSlice.peek() && { ...selectedSlice.peek() },
    area: selectedArea.peek() && { ...selectedArea.peek() },
    found: found.peek() && { total: found.peek()!.total, at: found.peek()!.at, error: found.peek()!.error },
    marked: model?.marked.length ?? 0,
    stalls: summary?.stalls ?? null,
    transfers: summary?.transfer_count ?? null,
    criticalSlices: summary?.critical_path.map((row) => row.slice) ?? null,
    skew: summary?.skew_ns ?? null,
    memory: model?.memory.map(({ name, peak, time }) => ({ name, peak, points: time.length })) ?? [],
    items: layoutOf(),
    frames: [...frameTimes],
    drawn: { ...lastDrawn },
    analysed: model?.header.peek()?.analysed ?? false,
  };
});
