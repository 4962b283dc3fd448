/** window.__board.trace: what the Trace page shows. */
import { expose, recorded } from '../../testing/test_hook.ts';
import { colouring, comparedSteps, mark, showCritical } from '../address/address_fields.ts';
import { found } from '../state/trace_search.ts';
import {
  chosen,
  mainTrace,
  markedOf,
  rows,
  sections,
  selectedArea,
  selectedSlice,
  timeView,
} from '../state/trace_state.ts';
import { hovered } from './hit_test.ts';
import { layoutOf } from './item_rects.ts';
import { arrowCounts } from './timeline_canvas.ts';

/** The state of the page; getters compute costly parts on demand. */
expose('trace', () => {
  const model = mainTrace.peek();
  const summary = model?.summary.peek();
  return {
    chosen: chosen.peek() && { ...chosen.peek() },
    compared: [...comparedSteps.peek()],
    view: { ...timeView.peek() },
    colouring: colouring.peek(),
    critical: showCritical.peek(),
    selected: selectedSlice.peek() && { ...selectedSlice.peek() },
    area: selectedArea.peek() && { ...selectedArea.peek() },
    found: foundNames(),
    mark: mark.peek(),
    hovered: hovered.peek() && { ...hovered.peek() },
    markedOf: markedOf.peek(),
    arrows: { ...arrowCounts.peek() },
    marked: model?.marked.length ?? 0,
    analysed: model?.header.peek()?.analysed ?? false,
    drawn: { at: 0, sharp: false, ...recorded('timeline') },
    get sections() {
      return sections.peek().map(({ trace, title, duration }) => ({ trace, title, duration }));
    },
    get rows() {
      return rows.peek().map((row) => ({ ...row, lanes: [...row.lanes] }));
    },
    get stalls() {
      return summary?.stalls ?? null;
    },
    get transfers() {
      return summary?.transfer_count ?? null;
    },
    get criticalSlices() {
      return summary?.critical_path.map((row) => row.slice) ?? null;
    },
    get skew() {
      return summary?.skew_ns ?? null;
    },
    get memory() {
      return model?.memory.curves.map(({ name, peak, time }) => ({ name, peak, points: time.length })) ?? [];
    },
    get items() {
      return layoutOf();
    },
  };
});

function foundNames() {
  const now = found.peek();
  if (!now) return null;
  const { pattern, total, at, wrong, message } = now;
  return { pattern, total, at, wrong, message, names: now.names.size, places: now.places.length };
}
