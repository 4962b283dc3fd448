/** A graph as the server sends it (docs/board_api.md, Graphs), with queries for the views. */
import type { Column, Columns } from '../../api/columns.ts';
import { counted } from '../../units/numbers.ts';
import { findName, pathOf } from './graph_names.ts';

export interface Template {
  id: number;
  hash: string;
  groups: number;
  ops: number;
  exact: boolean;
  family: number;
  near: number;
}
export interface Family {
  id: number;
  templates: number[];
  main: number;
  hue: number;
  tone: number;
  title: string;
}
export interface Series {
  id: number;
  parent: number;
  pattern: string;
  count: number;
  chain: boolean;
  varied: boolean;
}
export interface GraphHeader {
  id: number;
  title: string;
  kind?: string;
  strings: { ops: string[]; devices: string[]; shapes: string[] };
  templates: Template[];
  families: Family[];
  series: Series[];
  /** Columns that are sent as differences to the previous value, and to another column. */
  steps?: string[];
  offsets?: Record<string, string>;
  functions: { name: string; group: number; callers: number[] }[];
  /** A note is no fault of the log. */
  problems: { kind: string; count: number; text: string; note: boolean }[];
}

export const NONE = 65535;
export const AUXILIARY = 1;
const PSEUDO_GROUP = 2;

/** Groups follow the root in number; the children of group g are child[firstChild[g - root]...]. */
interface Tree {
  root: number;
  total: number;
  firstChild: Int32Array;
  child: Int32Array;
}

export class GraphModel {
  readonly header: GraphHeader;
  /** Ops are 0..ops-1, then the root, then the other groups. */
  readonly ops: number;
  readonly total: number;
  readonly root: number;
  readonly parent: Int32Array;
  readonly depth: Uint16Array;
  readonly op: Uint16Array;
  readonly device: Uint16Array;
  readonly firstChild: Int32Array;
  readonly child: Int32Array;
  readonly size: Uint32Array;
  readonly template: Int32Array;
  readonly family: Int32Array;
  readonly near: Uint32Array;
  readonly auxiliary: Uint8Array;
  readonly series: Int32Array;
  readonly flags: Uint8Array;
  readonly shape: Int32Array;
  readonly outputBytes: Float64Array;
  readonly metaStart: Int32Array;
  readonly metaSrc: Int32Array;
  readonly metaDst: Int32Array;
  readonly metaData: Uint32Array;
  readonly metaControl: Uint32Array;
  readonly metaBytes: Float64Array;
  readonly edgeSrc: Int32Array;
  readonly edgeDst: Int32Array;
  readonly edgePort: Int16Array;
  readonly outStart: Int32Array;
  readonly inStart: Int32Array;
  /** Edges by destination. */
  readonly inEdge: Int32Array;
  /** Place in a walk from the root, and the last place below. */
  readonly order: Int32Array;
  readonly last: Int32Array;
  /** The vertex at each place of that walk. */
  readonly walk: Int32Array;
  /** Members of each series. */
  readonly members: number[][];
  /** How many groups each family has. */
  readonly familySizes: Int32Array;
  readonly labels: string[];

  constructor({ header, columns: sent }: Columns<GraphHeader>) {
    this.header = header;
    const columns = unpacked(header, sent);
    const i32 = (name: string) => asInt32(columns[name]);
    this.parent = i32('parent');
    this.total = this.parent.length;
    this.op = columns.op as Uint16Array;
    this.root = this.parent.indexOf(-1);
    this.ops = this.root;
    this.depth = columns.depth as Uint16Array;
    this.device = columns.device as Uint16Array;
    this.firstChild = i32('first_child');
    this.child = i32('child');
    this.size = new Uint32Array(i32('size'));
    this.template = filled(columns.template, this.total, -1);
    this.family = filled(columns.family, this.total, -1);
    this.near = new Uint32Array(filled(columns.near, this.total, 0));
    this.auxiliary = (columns.side as Uint8Array) ?? new Uint8Array(this.total);
    this.series = filled(columns.series, this.total, -1);
    this.flags = (columns.flags as Uint8Array) ?? new Uint8Array(this.total);
    this.shape = filled(columns.shape, this.ops, -1);
    this.outputBytes = (columns.output_bytes as Float64Array) ?? new Float64Array(this.ops).fill(-1);
    this.metaSrc = i32('meta_src');
    this.metaDst = i32('meta_dst');
    this.metaData = new Uint32Array(i32('meta_data'));
    this.metaControl = new Uint32Array(i32('meta_control'));
    this.metaBytes = columns.meta_bytes as Float64Array;
    const groups = this.total - this.root;
    this.metaStart = starts(i32('meta_group'), this.root, groups);
    this.edgeSrc = i32('edge_src');
    this.edgeDst = i32('edge_dst');
    this.edgePort = columns.edge_port as Int16Array;
    this.outStart = starts(this.edgeSrc, 0, this.ops);
    this.inStart = starts(this.edgeDst, 0, this.ops);
    const next = this.inStart.slice(0, this.ops);
    this.inEdge = new Int32Array(this.edgeDst.length);
    for (let e = 0; e < this.edgeDst.length; e++) this.inEdge[next[this.edgeDst[e]!]!++] = e;

    ({ order: this.order, last: this.last, walk: this.walk } = numberTree(this));
    this.members = (header.series ?? []).map(() => []);
    for (const v of this.child) {
      const s = this.series[v]!;
      if (s >= 0) this.members[s]?.push(v);
    }
    this.familySizes = new Int32Array((header.families ?? []).length);
    for (let g = this.root + 1; g < this.total; g++)
      if (this.family[g]! >= 0 && !this.isWrapper(g)) this.familySizes[this.family[g]!]!++;
    this.labels = new TextDecoder()
      .decode(columns.labels as Uint8Array)
      .split('\n')
      .map(unescaped);
  }

  isGroup(v: number): boolean {
    return v >= this.root && v < this.total;
  }

  /** Whether a group holds just another vertex, whose structure it has; it is not an occurrence of its own. */
  isWrapper(v: number): boolean {
    return this.firstChild[v - this.root + 1]! - this.firstChild[v - this.root]! === 1;
  }

  /** The group within wrappers, which is the occurrence that counts. */
  unwrapped(v: number): number {
    let at = v;
    while (this.isGroup(at) && this.isWrapper(at)) at = this.children(at)[0]!;
    return at;
  }

  isBelow(v: number, group: number): boolean {
    const at = this.order[v]!;
    return at >= this.order[group]! && at <= this.last[group]!;
  }

  children(group: number): Int32Array {
    return this.child.subarray(this.firstChild[group - this.root]!, this.firstChild[group - this.root + 1]!);
  }

  /** The child of `group` at or above v, which is below it. */
  childTowards(group: number, v: number): number {
    let at = v;
    const level = this.depth[group]! + 1;
    while (this.depth[at]! > level) at = this.parent[at]!;
    return at;
  }

  /** The groups that contain v, from the root down. */
  ancestors(v: number): number[] {
    const found: number[] = [];
    for (let at = this.parent[v]!; at >= 0; at = this.parent[at]!) found.push(at);
    return found.reverse();
  }

  /** The full name; a function is functions/NAME/..., a module of a scope SCOPE/LABEL (module). */
  path(v: number): string {
    return pathOf(this, v);
  }

  isPseudo(v: number): boolean {
    return (this.flags[v]! & PSEUDO_GROUP) !== 0;
  }

  /** The op or group of a full name, -1 if there is none; an op takes precedence over a scope of the same name. */
  find(path: string): number {
    return findName(this, path);
  }

  opName(v: number): string {
    const op = v < this.ops ? this.op[v]! : NONE;
    return op === NONE ? '' : (this.header.strings.ops[op] ?? '');
  }

  deviceName(v: number): string {
    return this.header.strings.devices[this.device[v]!] ?? '';
  }

  shapeOf(v: number): string {
    const shape = v < this.ops ? this.shape[v]! : -1;
    return shape < 0 ? '' : (this.header.strings.shapes[shape] ?? '');
  }

  /** The shape alone, as edges show it: 32×299×299×3. */
  shortShape(v: number): string {
    const shape = /\[(.*?)\]/.exec(this.shapeOf(v))?.[1];
    if (shape === undefined) return '';
    return shape === '' ? 'scalar' : shape.replaceAll(', ', '×');
  }

  /** "3 ops", or "3 layers" of a Keras model. */
  opsText(n: number): string {
    return counted(n, this.header.kind === 'keras_model' ? 'layer' : 'op');
  }

  /** The ops at or below v. */
  *opsBelow(v: number): Generator<number> {
    for (let at = this.order[v]!; at <= this.last[v]!; at++) {
      const u = this.walk[at]!;
      if (u < this.ops) yield u;
    }
  }
}

/** Numbers the vertices in a depth-first walk from the root, so that what lies below a vertex is an interval. */
function numberTree({ root, total, firstChild, child }: Tree) {
  const order = new Int32Array(total);
  const last = new Int32Array(total);
  const walk = new Int32Array(total);
  const path = [root];
  const next = firstChild.slice();
  let counter = 0;
  order[root] = counter;
  walk[counter++] = root;
  while (path.length > 0) {
    const g = path[path.length - 1]!;
    const k = next[g - root]!;
    if (k < firstChild[g - root + 1]!) {
      next[g - root] = k + 1;
      const v = child[k]!;
      order[v] = counter;
      walk[counter++] = v;
      if (v >= root) path.push(v);
      else last[v] = order[v]!;
    } else {
      last[g] = counter - 1;
      path.pop();
    }
  }
  return { order, last, walk };
}

function unpacked(header: GraphHeader, sent: Record<string, Column>): Record<string, Column> {
  const columns = { ...sent };
  for (const name of header.steps ?? []) {
    const column = (columns[name] as Int32Array<ArrayBuffer>).slice();
    for (let i = 1; i < column.length; i++) column[i]! += column[i - 1]!;
    columns[name] = column;
  }
  for (const [name, other] of Object.entries(header.offsets ?? {})) {
    const base = columns[other] as Int32Array;
    columns[name] = (columns[name] as Int32Array<ArrayBuffer>).map((v, i) => v + base[i]!);
  }
  return columns;
}

/** Decodes a line of the labels, in which line ends and backslashes are escaped. */
function unescaped(line: string): string {
  if (!line.includes('\\')) return line;
  return line.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c === 'r' ? '\r' : c));
}

function asInt32(column: ArrayLike<number | bigint> | undefined): Int32Array {
  if (column instanceof Int32Array) return column;
  return Int32Array.from((column ?? []) as ArrayLike<number>, Number);
}

function filled(column: ArrayLike<number | bigint> | undefined, length: number, value: number): Int32Array {
  if (!column) return new Int32Array(length).fill(value);
  const given = asInt32(column);
  if (given.length === length) return given;
  const result = new Int32Array(length).fill(value);
  result.set(given.subarray(0, length));
  return result;
}

/** Where each key would begin if the column were sorted. */
function starts(keys: Int32Array, first: number, count: number): Int32Array {
  const start = new Int32Array(count + 1);
  for (const k of keys) start[k - first + 1]!++;
  for (let i = 0; i < count; i++) start[i + 1]! += start[i]!;
  return start;
}
