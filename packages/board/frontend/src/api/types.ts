/** What the server's JSON replies hold (docs/board_api.md). */

export type Kind =
  | 'scalar'
  | 'histogram'
  | 'image'
  | 'audio'
  | 'text'
  | 'pr_curve'
  | 'hparams'
  | 'mesh'
  | 'custom_scalars'
  | 'tensor'
  | 'graph'
  | 'run_metadata';

export interface Meta {
  rev: number;
  version: string;
  logdir: string;
  title: string;
  read_only: boolean;
  boot: string;
}

export interface Run {
  id: number;
  name: string;
  folder: string;
  start: number;
  last_wall: number;
  live: boolean;
  segments: number;
  problems: number;
}

export interface Tag {
  id: number;
  name: string;
  kind: Kind;
  plugin: string;
  display: string;
  description: string;
}

/** One series of a tag in a run; the server sends NaN and infinities as strings; they are numbers here. */
export interface Series {
  tag: number;
  run: number;
  n: number;
  firstStep: number;
  lastStep: number;
  firstWall: number;
  lastWall: number;
  last: number;
  min: number;
  max: number;
  nan: number;
}

export interface Problem {
  id: number;
  severity: 'error' | 'warning' | 'note';
  kind: string;
  run: number | null;
  file: string | null;
  offset: number | null;
  bytes: number;
  count: number;
  text: string;
  wall: number;
  /** Of a curve's point: its tag, and the first step at which it is so. */
  tag: number | null;
  step: number | null;
}

export interface Change {
  rev: number;
  /** Grows when trace files come, change or go. */
  traces: number;
  runs: number;
  tags: number;
  points: number;
  loading: boolean;
  /** Names the server process: the ids are of it. */
  boot: string;
  files: number;
  bytes_done: number;
  bytes_total: number;
}
