/** What the timeline shows, and where each track is on the canvas. */

import type { MemoryCurve, Place, Summary } from '../data/trace_api.ts';
import type { TraceItems } from '../data/trace_items.ts';
import { type Row, trackMiddle } from '../layout/rows.ts';
import type { TimeView } from '../layout/time_view.ts';
import type { Painted, ThemeColours } from './trace_colours.ts';

export type Context = CanvasRenderingContext2D;

export interface DrawnSection {
  trace: number;
  duration: number;
  items: TraceItems | null;
  painted: Painted | null;
  summary: Summary | null;
  memory: MemoryCurve[];
  marked: Place[];
}

export interface TimelineScene {
  width: number;
  height: number;
  scroll: number;
  view: TimeView;
  rows: Row[];
  sections: DrawnSection[];
  ink: ThemeColours;
  critical: boolean;
  arrows: boolean;
  /** Names that a search found; null without a search. */
  found: ReadonlySet<string> | null;
  selected: { trace: number; slice: number; lane: number; start: number; dur: number } | null;
  hovered: { trace: number; lane: number; start: number; dur: number } | null;
  area: { trace: number; t0: number; t1: number; lanes: number[] | null } | null;
  mark: { t0: number; t1: number } | null;
  ratio: number;
}

/** Returns: a function for the vertical centre of each track of a section. */
export function middles(picture: Pick<TimelineScene, 'rows' | 'scroll'>, section: number) {
  const known = new Map<number, number | null>();
  return (lane: number): number | null => {
    let y = known.get(lane);
    if (y === undefined) {
      y = trackMiddle(picture.rows, section, lane, picture.scroll);
      known.set(lane, y);
    }
    return y;
  };
}
