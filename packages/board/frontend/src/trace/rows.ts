/** Where each lane of each step stands on the page: groups by task and device that open and close. */

export interface LaneInfo {
  id: number;
  task: string;
  task_title: string;
  device: string;
  device_title: string;
  thread: string;
  row: number;
  slices: number;
  busy_ns: number;
}

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
}

export const SECTION_HEIGHT = 26;
export const GROUP_HEIGHT = 24;
export const LANE_HEIGHT = 24;
export const UNDER_HEIGHT = 19;
export const MEMORY_HEIGHT = 46;
export const SCOPES_HEIGHT = 17;

/** Rows from top to bottom; lanes grow by `stretch`. A device of one lane has no heading of its own. */
export function layRows(
  sections: Section[],
  closed: ReadonlySet<string>,
  withMemory: boolean,
  stretch = 1,
  scopeLevels = 0,
): Row[] {
  const rows: Row[] = [];
  const tall = (height: number) => Math.round(height * stretch);
  let y = 0;
  const push = (row: Partial<Row> & Pick<Row, 'kind' | 'section' | 'height' | 'title'>) => {
    rows.push({ key: '', open: true, lanes: [], curve: -1, of: -1, indent: 0, ...row, y });
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
  sections.forEach((section, s) => {
    if (section.title) {
      push({ kind: 'section', section: s, height: SECTION_HEIGHT, title: section.title });
    }
    for (const group of groupsOf(section.lanes)) {
      const key = `${group[0]!.task}|${group[0]!.device}`;
      const title = groupTitle(group[0]!);
      if (group.length === 1) {
        const lanes = [group[0]!.id];
        scopes(s, group[0]!, 0);
        push({ kind: 'lane', section: s, height: tall(LANE_HEIGHT), title, lanes, key });
        continue;
      }
      const open = !closed.has(key);
      const lanes = open ? [] : group.map((lane) => lane.id);
      push({ kind: 'group', section: s, height: GROUP_HEIGHT, title, key, open, lanes });
      if (!open) continue;
      for (const lane of group) {
        scopes(s, lane, 1);
        push({
          kind: 'lane',
          section: s,
          height: tall(lane.row ? UNDER_HEIGHT : LANE_HEIGHT),
          title: lane.row ? '' : lane.thread,
          lanes: [lane.id],
          indent: 1,
        });
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

/** The row at a height, or null. */
export function rowAt(rows: Row[], y: number): Row | null {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle]!;
    if (y < row.y) high = middle - 1;
    else if (y >= row.y + row.height) low = middle + 1;
    else return row;
  }
  return null;
}

/** The middle of a lane, within its own row or its closed group's; null if it has none. */
export function laneMiddle(rows: Row[], section: number, lane: number): number | null {
  for (const row of rows) {
    if (row.section !== section) continue;
    const at = row.lanes.indexOf(lane);
    if (at >= 0) return row.y + (row.height * (at + 0.5)) / row.lanes.length;
  }
  return null;
}

/** How high a lane is drawn. */
export function laneHeight(rows: Row[], section: number, lane: number): number {
  const row = rows.find((one) => one.section === section && one.lanes.includes(lane));
  return row ? row.height / row.lanes.length : 0;
}

/** The lanes between two heights. */
export function lanesBetween(rows: Row[], section: number, from: number, to: number): number[] {
  const [low, high] = from < to ? [from, to] : [to, from];
  return rows
    .filter((row) => row.section === section && row.y < high && row.y + row.height > low)
    .flatMap((row) => row.lanes);
}
