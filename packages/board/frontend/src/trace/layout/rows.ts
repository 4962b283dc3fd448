/** The rows of the timeline: the tracks of each step, grouped by task and device. */
import type { Track } from '../data/trace_api.ts';

export interface Section {
  /** Of which trace. */
  trace: number;
  /** "" if only one step is shown. */
  title: string;
  duration: number;
  lanes: Track[];
  /** Titles of memory curves. */
  memory: string[];
}

export interface Row {
  kind: 'section' | 'group' | 'scopes' | 'track' | 'memory';
  section: number;
  y: number;
  height: number;
  title: string;
  /** The key of a group, by which it opens and closes. */
  key: string;
  open: boolean;
  /** The tracks drawn in it: one, or all of a closed group. */
  lanes: number[];
  /** The curve of a memory row; the level of a row of scopes. */
  curve: number;
  /** The track that a row of scopes belongs to. */
  of: number;
  indent: number;
  /** Whether it stays on top while the timeline scrolls. */
  pinned: boolean;
}

/** Which groups are closed and which tracks are pinned or hidden, by their keys. */
export interface TrackChoice {
  closed: ReadonlySet<string>;
  pinned: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  /** Only tracks whose title contains this text; "" shows all. */
  filter: string;
}

export const UNCHANGED: TrackChoice = {
  closed: new Set(),
  pinned: new Set(),
  hidden: new Set(),
  filter: '',
};

/** Identifies a thread of a device across steps; its subtracks have the same key. */
export function trackKey(lane: Track): string {
  return `${lane.task}|${lane.device}|${lane.thread}`;
}

function matches(lane: Track, filter: string): boolean {
  return `${lane.task_title} · ${lane.device_title} ${lane.thread}`.toLowerCase().includes(filter);
}

export const SECTION_HEIGHT = 26;
export const GROUP_HEIGHT = 24;
export const TRACK_HEIGHT = 24;
export const SUBTRACK_HEIGHT = 19;
export const MEMORY_HEIGHT = 46;
export const SCOPES_HEIGHT = 17;

/**
 * Rows from top to bottom, those of pinned tracks first; tracks grow by `stretch`. A device of one track has
 * no heading of its own.
 */
export function layOutRows(
  sections: Section[],
  choice: TrackChoice,
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
  const scopes = (section: number, lane: Track, indent: number) => {
    if (lane.row > 0) return;
    for (let level = 0; level < scopeLevels; level++) {
      const title = level === 0 ? 'scopes' : '';
      const place = { section, height: SCOPES_HEIGHT, title, indent };
      push({ kind: 'scopes', ...place, curve: level, of: lane.id });
    }
  };
  const one = (section: number, lane: Track, title: string, indent: number, pinned: boolean) => {
    const height = tall(lane.row ? SUBTRACK_HEIGHT : TRACK_HEIGHT);
    push({ kind: 'track', section, height, title, lanes: [lane.id], indent, pinned, key: trackKey(lane) });
  };
  sections.forEach((section, s) => {
    const place = section.title ? `${section.title} · ` : '';
    for (const group of groupsOf(section.lanes)) {
      for (const lane of group) {
        const key = trackKey(lane);
        if (!choice.pinned.has(key) || choice.hidden.has(key)) continue;
        const thread = group.length > 1 ? ` ${threadTitle(lane)}` : '';
        one(s, lane, `${place}${groupTitle(lane)}${thread}`, 0, true);
      }
    }
  });
  sections.forEach((section, s) => {
    if (section.title) {
      push({ kind: 'section', section: s, height: SECTION_HEIGHT, title: section.title });
    }
    for (const whole of groupsOf(section.lanes)) {
      const group = whole.filter((lane) => {
        const key = trackKey(lane);
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
        one(s, lane, threadTitle(lane), 1, false);
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

/** Groups consecutive tracks of one device of one task. */
export function groupsOf(lanes: Track[]): Track[][] {
  const groups: Track[][] = [];
  for (const lane of lanes) {
    const last = groups.at(-1)?.[0];
    if (last && last.task === lane.task && last.device === lane.device) groups.at(-1)!.push(lane);
    else groups.push([lane]);
  }
  return groups;
}

/** The name of a track; slices that overlap others of their thread are on tracks numbered from 2. */
export function threadTitle(lane: Track): string {
  const name = lane.thread || lane.device_title;
  return lane.row ? `${name} (${lane.row + 1})` : name;
}

export function groupTitle(lane: Track): string {
  return lane.task ? `${lane.task_title} · ${lane.device_title}` : lane.device_title;
}

export function heightOf(rows: Row[]): number {
  const last = rows.at(-1);
  return last ? last.y + last.height : 0;
}

/** The height of the pinned rows. */
export function pinnedHeight(rows: Row[]): number {
  let height = 0;
  for (const row of rows) {
    if (!row.pinned) break;
    height = row.y + row.height;
  }
  return height;
}

/** The top of a row on the scrolled canvas. */
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

/** The vertical centre of a track on the canvas, in its own row or that of its closed group; null if it has no row. */
export function trackMiddle(rows: Row[], section: number, lane: number, scroll: number): number | null {
  for (const row of rows) {
    if (row.section !== section) continue;
    const at = row.lanes.indexOf(lane);
    if (at >= 0) return topOf(row, scroll) + (row.height * (at + 0.5)) / row.lanes.length;
  }
  return null;
}

/** The height at which a track is drawn. */
export function trackHeight(rows: Row[], section: number, lane: number): number {
  const row = rows.find((one) => one.section === section && one.lanes.includes(lane));
  return row ? row.height / row.lanes.length : 0;
}

/** The tracks between two heights of the canvas. */
export function tracksBetween(
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
