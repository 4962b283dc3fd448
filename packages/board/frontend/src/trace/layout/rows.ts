/** Where each lane of each step stands on the page: groups by task and device that open and close. */
import type { LaneInfo } from '../data/trace_api.ts';

export interface Section {
  /** Of which trace. */
  trace: number;
  /** "" for the one that stands alone. */
  title: string;
  duration: number;
  lanes: LaneInfo[];
  /** Titles of memory curves. */
  memory: string[];
}

export interface Row {
  kind: 'section' | 'group' | 'scopes' | 'lane' | 'memory';
  section: number;
  y: number;
  height: number;
  title: string;
  /** Of a group: what opens and closes it. */
  key: string;
  open: boolean;
  /** The lanes drawn in it: one, or all of a closed group. */
  lanes: number[];
  /** Of a memory track: which curve; of a track of scopes: which level. */
  curve: number;
  /** Of a track of scopes: of which lane. */
  of: number;
  indent: number;
  /** Stays on top, however far the lanes are scrolled. */
  pinned: boolean;
}

/** What is done to the lanes, by keys of groups and of lanes. */
export interface LaneChoice {
  closed: ReadonlySet<string>;
  pinned: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  /** Only lanes whose title has this text; "" is all. */
  filter: string;
}

export const AS_THEY_ARE: LaneChoice = {
  closed: new Set(),
  pinned: new Set(),
  hidden: new Set(),
  filter: '',
};

/** A thread of a device, whatever step it is traced in; the rows under it share it. */
export function laneKey(lane: LaneInfo): string {
  return `${lane.task}|${lane.device}|${lane.thread}`;
}

function matches(lane: LaneInfo, filter: string): boolean {
  return `${lane.task_title} · ${lane.device_title} ${lane.thread}`.toLowerCase().includes(filter);
}

export const SECTION_HEIGHT = 26;
export const GROUP_HEIGHT = 24;
export const LANE_HEIGHT = 24;
export const UNDER_HEIGHT = 19;
export const MEMORY_HEIGHT = 46;
export const SCOPES_HEIGHT = 17;

/**
 * Rows from top to bottom, those of pinned lanes first; lanes grow by `stretch`. A device of one lane has
 * no heading of its own.
 */
export function layRows(
  sections: Section[],
  choice: LaneChoice,
  withMemory: boolean,
  stretch = 1,
  scopeLevels = 0,
): Row[] {
  const rows: Row[] = [];
  const tall = (height: number) => Math.round(height * stretch);
  const filter = choice.filter.trim().toLowerCase();
  let y = 0;
  const push = (row: Partial<Row> & Pick<Row, 'kind' | 'section' | 'height' | 'title'>) => {
    const plain = { key: '', open: true, lanes: [], curve: -1, of: -1, indent: 0, pinned: false };
    rows.push({ ...plain, ...row, y });
    y += row.height;
  };
  const scopes = (section: number, lane: LaneInfo, indent: number) => {
    if (lane.row > 0) return;
    for (let level = 0; level < scopeLevels; level++) {
      const title = level === 0 ? 'scopes' : '';
      const place = { section, height: SCOPES_HEIGHT, title, indent };
      push({ kind: 'scopes', ...place, curve: level, of: lane.id });
    }
  };
  const one = (section: number, lane: LaneInfo, title: string, indent: number, pinned: boolean) => {
    const height = tall(lane.row ? UNDER_HEIGHT : LANE_HEIGHT);
    push({ kind: 'lane', section, height, title, lanes: [lane.id], indent, pinned, key: laneKey(lane) });
  };
  sections.forEach((section, s) => {
    const place = section.title ? `${section.title} · ` : '';
    for (const group of groupsOf(section.lanes)) {
      for (const lane of group) {
        const key = laneKey(lane);
        if (!choice.pinned.has(key) || choice.hidden.has(key)) continue;
        const thread = group.length > 1 ? ` ${lane.thread}` : '';
        one(s, lane, lane.row ? '' : `${place}${groupTitle(lane)}${thread}`, 0, true);
      }
    }
  });
  sections.forEach((section, s) => {
    if (section.title) {
      push({ kind: 'section', section: s, height: SECTION_HEIGHT, title: section.title });
    }
    for (const whole of groupsOf(section.lanes)) {
      const group = whole.filter((lane) => {
        const key = laneKey(lane);
        return !choice.hidden.has(key) && !choice.pinned.has(key) && (!filter || matches(lane, filter));
      });
      if (!group.length) continue;
      const key = `${group[0]!.task}|${group[0]!.device}`;
      const title = groupTitle(group[0]!);
      if (whole.length === 1) {
        scopes(s, group[0]!, 0);
        one(s, group[0]!, title, 0, false);
        continue;
      }
      const open = !choice.closed.has(key);
      const lanes = open ? [] : group.map((lane) => lane.id);
      push({ kind: 'group', section: s, height: GROUP_HEIGHT, title, key, open, lanes });
      if (!open) continue;
      for (const lane of group) {
        scopes(s, lane, 1);
        one(s, lane, lane.row ? '' : lane.thread, 1, false);
      }
    }
    if (withMemory) {
      section.memory.forEach((title, curve) => {
        push({ kind: 'memory', section: s, height: tall(MEMORY_HEIGHT), title, curve });
      });
    }
  });
  return rows;
}

/** Lanes that follow each other on one device of one task. */
export function groupsOf(lanes: LaneInfo[]): LaneInfo[][] {
  const groups: LaneInfo[][] = [];
  for (const lane of lanes) {
    const last = groups.at(-1)?.[0];
    if (last && last.task === lane.task && last.device === lane.device) groups.at(-1)!.push(lane);
    else groups.push([lane]);
  }
  return groups;
}

export function groupTitle(lane: LaneInfo): string {
  return lane.task ? `${lane.task_title} · ${lane.device_title}` : lane.device_title;
}

export function heightOf(rows: Row[]): number {
  const last = rows.at(-1);
  return last ? last.y + last.height : 0;
}

/** How high the rows are that stay on top. */
export function pinnedHeight(rows: Row[]): number {
  let height = 0;
  for (const row of rows) {
    if (!row.pinned) break;
    height = row.y + row.height;
  }
  return height;
}

/** Where a row begins on the canvas, when the lanes are scrolled. */
export function topOf(row: Row, scroll: number): number {
  return row.pinned ? row.y : row.y - scroll;
}

/** The row at a height of the canvas, or null. */
export function rowAt(rows: Row[], y: number, scroll: number): Row | null {
  const at = y < pinnedHeight(rows) ? y : y + scroll;
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle]!;
    if (at < row.y) high = middle - 1;
    else if (at >= row.y + row.height) low = middle + 1;
    else return row;
  }
  return null;
}

/** The middle of a lane on the canvas, within its own row or its closed group's; null if it has none. */
export function laneMiddle(rows: Row[], section: number, lane: number, scroll: number): number | null {
  for (const row of rows) {
    if (row.section !== section) continue;
    const at = row.lanes.indexOf(lane);
    if (at >= 0) return topOf(row, scroll) + (row.height * (at + 0.5)) / row.lanes.length;
  }
  return null;
}

/** How high a lane is drawn. */
export function laneHeight(rows: Row[], section: number, lane: number): number {
  const row = rows.find((one) => one.section === section && one.lanes.includes(lane));
  return row ? row.height / row.lanes.length : 0;
}

/** The lanes between two heights of the canvas. */
export function lanesBetween(
  rows: Row[],
  section: number,
  from: number,
  to: number,
  scroll: number,
): number[] {
  const [low, high] = from < to ? [from, to] : [to, from];
  return rows
    .filter((row) => {
      const top = topOf(row, scroll);
      return row.section === section && top < high && top + row.height > low;
    })
    .flatMap((row) => row.lanes);
}
