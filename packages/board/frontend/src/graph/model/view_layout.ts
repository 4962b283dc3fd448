/** Lays out a view, group by group from within; what did not change is taken from the last time. */

import { ENTRY, EXIT, type Placed } from '../layout/layered_graph.ts';
import { type Arrangement, arrange, horizontalOrder, MANY, place } from '../layout/layout_group.ts';
import {
  CONST_HEIGHT,
  GROUP_HEIGHT,
  guessWidth,
  labelWidth,
  type Measure,
  OP_HEIGHT,
  PAD,
  stubReserve,
  TITLE_HEIGHT,
} from './box_sizes.ts';
import type { GraphModel } from './graph_model.ts';
import { type GroupContent, groupContent, MORE } from './group_content.ts';
import {
  CONST,
  FROM_PORT,
  GROUP,
  IN_SIDE,
  OP,
  OPENED,
  type Scene,
  STACK,
  TO_PORT,
  UPWARDS,
} from './scene.ts';
import { CLOSED, isOpen, type ViewState } from './view_state.ts';

const BLOCK_GAP = 30;
const MOST_KEPT = 20_000;
const SIDE_GAP = 10;

/** Places of repeated scopes, by arrangement and sizes. */
type Placements = Map<Arrangement, Map<string, Placed>>;

const SIDE_HEADING = 22;

/** A part of a group that hangs together: nodes of its content, and how they are arranged. */
interface Block {
  nodes: number[];
  edges: number[];
  arrangement: Arrangement | null; // null: one node
}

interface Shape {
  signature: string;
  content: GroupContent;
  blocks: Block[];
  order: Map<number, number>;
}

interface Laid {
  shape: Shape;
  sizes: string;
  width: number;
  height: number;
  /** Top left corners by node, then by side item, relative to the group. */
  left: Float64Array;
  top: Float64Array;
  sideLeft: number[];
  sideTop: number[];
  strip: [number, number, number, number] | null;
  points: Float32Array;
  start: Int32Array;
  portX: Map<string, number>;
}

export class ViewLayout {
  private readonly model: GraphModel;
  private readonly measure: Measure;
  private readonly shapes = new Map<number, Shape>();
  private readonly plain = new Map<number, Shape>();
  private readonly laid = new Map<number, Laid>();
  private contentOf: ViewState | null = null;
  private contents = new Map<number, GroupContent>();
  private view: ViewState = CLOSED;
  private readonly arrangements = new Map<string, Arrangement>();
  private readonly placements: Placements = new Map();
  private readonly closedSize = new Map<number, [number, number]>();

  constructor(model: GraphModel, measure: Measure = guessWidth) {
    this.model = model;
    this.measure = measure;
  }

  layout(view: ViewState): Scene {
    const was = this.contentOf;
    const same =
      was !== null &&
      equal(was.unfolded, view.unfolded) &&
      equal(was.pulled, view.pulled) &&
      equal(was.hidden, view.hidden) &&
      equalMap(was.moved, view.moved) &&
      was.allOpen === view.allOpen;
    if (!same) this.contents = new Map();
    this.contentOf = view;
    this.view = view;
    this.layGroup(this.model.root);
    return new Collector(this.model, this.view, this.laid, (item) => this.sizeOf(item)).collect();
  }

  label(item: number): string {
    return item < this.model.total
      ? this.model.labels[item]!
      : this.model.header.series[item - this.model.total]!.pattern;
  }

  private sizeOf(item: number): [number, number] {
    if (isOpen(this.model, this.view, item)) {
      const laid = this.layGroup(item);
      return [laid.width, laid.height];
    }
    const known = this.closedSize.get(item);
    if (known) return known;
    const text = labelWidth(this.label(item), this.measure);
    let size: [number, number];
    if (item >= this.model.total) size = [Math.max(96, text + 68), GROUP_HEIGHT + 4];
    else if (this.model.isGroup(item)) size = [Math.max(84, text + 42), GROUP_HEIGHT];
    else if (this.model.opName(item) === 'Const') size = [Math.max(44, text + 22), CONST_HEIGHT];
    else size = [Math.max(56, text + 30), OP_HEIGHT];
    size[0] = Math.round(size[0]);
    this.closedSize.set(item, size);
    return size;
  }

  private content(group: number): GroupContent {
    let content = this.contents.get(group);
    if (!content) {
      content = groupContent(this.model, this.view, group);
      this.contents.set(group, content);
    }
    return content;
  }

  private shape(group: number): Shape {
    const content = this.content(group);
    const known = this.shapes.get(group);
    if (known?.content === content) return known;
    const signature = signatureOf(content);
    if (known?.signature === signature) {
      known.content = content;
      return known;
    }
    let shape: Shape;
    if (this.view.allOpen) shape = this.makeShape(content, signature, null);
    else {
      const plain = this.plainShape(group);
      shape = plain.signature === signature ? plain : this.makeShape(content, signature, this.seed(plain));
    }
    shape.content = content;
    this.shapes.set(group, shape);
    return shape;
  }

  /** The group with all folded and nothing moved: its order is what later views keep to. */
  private plainShape(group: number): Shape {
    let plain = this.plain.get(group);
    if (!plain) {
      const content = groupContent(this.model, CLOSED, group);
      plain = this.makeShape(content, signatureOf(content), null);
      this.plain.set(group, plain);
    }
    return plain;
  }

  private makeShape(
    content: GroupContent,
    signature: string,
    seedOf: ((item: number) => number) | null,
  ): Shape {
    if (this.arrangements.size > MOST_KEPT) this.arrangements.clear();
    return makeShape(content, signature, seedOf, this.arrangements);
  }

  private seed(plain: Shape): (item: number) => number {
    const { model } = this;
    return (item) => {
      const known = plain.order.get(item);
      if (known !== undefined) return known;
      const s = item < model.total ? model.series[item]! : -1;
      if (s < 0) return NaN;
      const stack = plain.order.get(model.total + s);
      if (stack === undefined) return NaN;
      // Members of a stack stand where it stood, in their order.
      return stack + 1e-6 * model.members[s]!.indexOf(item);
    };
  }

  private layGroup(group: number): Laid {
    const { model, view } = this;
    const shape = this.shape(group);
    const { content } = shape;
    const width: number[] = [];
    const height: number[] = [];
    const opened: number[] = [];
    let sizes = '';
    for (const item of [...content.items, ...content.side]) {
      const [w, h] = this.sizeOf(item);
      width.push(w);
      height.push(h);
      if (isOpen(model, view, item)) {
        opened.push(item);
        sizes += `${item}:${w},${h};${this.laid.get(item)!.sizes.length}/`;
        for (const [key, x] of this.laid.get(item)!.portX) sizes += `${key}=${Math.round(x)},`;
      }
    }
    const known = this.laid.get(group);
    if (known && known.shape === shape && known.sizes === sizes) return known;
    const laid = this.placeGroup(group, shape, width, height, sizes);
    this.laid.set(group, laid);
    return laid;
  }

  private placeGroup(group: number, shape: Shape, width: number[], height: number[], sizes: string): Laid {
    const { model, view } = this;
    const { content, blocks } = shape;
    const items = content.items.length;
    const nodes = items + content.ports.length;
    const w = new Float64Array(nodes);
    const h = new Float64Array(nodes);
    const reserve = new Float64Array(nodes);
    for (let i = 0; i < items; i++) {
      w[i] = width[i]!;
      h[i] = height[i]!;
      const stubs = content.stubs.get(content.items[i]!);
      if (stubs && !isOpen(model, view, content.items[i]!)) {
        reserve[i] = stubReserve(this.label(stubs[0]!.item), stubs.length > 1, this.measure);
      }
    }
    const srcPort = new Float64Array(content.src.length).fill(NaN);
    const dstPort = new Float64Array(content.src.length).fill(NaN);
    for (let e = 0; e < content.src.length; e++) {
      const a = content.src[e]!;
      const b = content.dst[e]!;
      const from = a < items ? content.items[a]! : content.ports[a - items]!.key;
      const to = b < items ? content.items[b]! : content.ports[b - items]!.key;
      if (a < items && isOpen(model, view, from)) srcPort[e] = this.port(from, true, to);
      if (b < items && isOpen(model, view, to)) dstPort[e] = this.port(to, false, from);
    }
    const placed = placeBlocks(blocks, content, { w, h, reserve, srcPort, dstPort }, this.placements);

    const isRoot = group === model.root;
    const hasEntry = content.ports.some((p) => !p.outgoing);
    const hasExit = content.ports.some((p) => p.outgoing);
    const side = this.sideStrip(content, width, height, placed.height);
    const padTop = isRoot ? PAD : hasEntry ? 4 : TITLE_HEIGHT + 4;
    const padBottom = isRoot || !hasExit ? PAD : 0;
    const innerWidth = Math.max(placed.width, 40);
    const bodyHeight = Math.max(placed.height, hasEntry ? TITLE_HEIGHT : 0);
    const title = isRoot ? 0 : labelWidth(this.label(group), this.measure) + 110;
    const total = {
      width: Math.max(title, PAD + innerWidth + (side ? side.width + 2 * PAD : PAD)),
      height: Math.max(padTop + bodyHeight + padBottom, side ? TITLE_HEIGHT + side.height + 2 * PAD : 0),
    };
    const shiftX = PAD + (side ? 0 : (total.width - 2 * PAD - innerWidth) / 2);
    const left = new Float64Array(nodes);
    const top = new Float64Array(nodes);
    for (let v = 0; v < nodes; v++) {
      left[v] = placed.x[v]! - w[v]! / 2 + shiftX;
      top[v] = placed.y[v]! - h[v]! / 2 + padTop;
    }
    const portX = new Map<string, number>();
    const points = placed.points;
    for (let i = 0; i < points.length; i += 2) {
      points[i]! += shiftX;
      points[i + 1]! += padTop;
    }
    content.ports.forEach((port, i) => {
      portX.set(`${port.outgoing}${port.key}`, left[items + i]!);
    });
    for (let e = 0; e < content.src.length; e++) {
      if (placed.start[e] === placed.start[e + 1]) continue;
      if (content.src[e]! >= items) points[2 * placed.start[e]! + 1] = 0;
      if (content.dst[e]! >= items) points[2 * placed.start[e + 1]! - 1] = total.height;
    }
    const stripX = total.width - (side ? side.width + PAD : 0);
    return {
      shape,
      sizes,
      width: Math.round(total.width),
      height: Math.round(total.height),
      left,
      top,
      sideLeft: side ? side.left.map((x) => x + stripX) : [],
      sideTop: side ? side.top.map((y) => y + TITLE_HEIGHT + PAD / 2 + SIDE_HEADING) : [],
      strip: side
        ? [stripX - 10, TITLE_HEIGHT + PAD / 2 - 2, side.width + 20, side.height + SIDE_HEADING - 12]
        : null,
      points,
      start: placed.start,
      portX,
    };
  }

  private port(group: number, outgoing: boolean, key: number): number {
    const laid = this.laid.get(group)!;
    return laid.portX.get(`${outgoing}${key}`) ?? laid.portX.get(`${outgoing}${MORE}`) ?? NaN;
  }

  /** The side area: columns of items, those with most edges first. */
  private sideStrip(content: GroupContent, width: number[], height: number[], room: number) {
    if (content.side.length === 0) return null;
    const first = content.items.length;
    const degree = (i: number) => content.sideDegree.get(content.side[i]!) ?? 0;
    const order = content.side
      .map((_, i) => i)
      .sort(
        (a, b) =>
          degree(b) - degree(a) || (this.label(content.side[a]!) < this.label(content.side[b]!) ? -1 : 1),
      );
    const most = Math.max(room - SIDE_HEADING, 420);
    const left = new Array<number>(content.side.length).fill(0);
    const top = new Array<number>(content.side.length).fill(0);
    let x = 0;
    let y = 0;
    let column = 0;
    let tallest = 0;
    let inColumn: number[] = [];
    const close = () => {
      for (const i of inColumn) left[i] = x + (column - width[first + i]!) / 2;
      x += column + 16;
      inColumn = [];
      column = 0;
      y = 0;
    };
    for (const i of order) {
      if (y > 0 && y + height[first + i]! > most) close();
      top[i] = y;
      y += height[first + i]! + SIDE_GAP;
      column = Math.max(column, width[first + i]!, 76);
      tallest = Math.max(tallest, y - SIDE_GAP);
      inColumn.push(i);
    }
    close();
    return { left, top, width: x - 16, height: tallest + SIDE_HEADING };
  }
}

function signatureOf(content: GroupContent): string {
  return [
    content.items.join(','),
    content.ports.map((p) => `${p.outgoing ? 'o' : 'i'}${p.key}`).join(','),
    content.src.join(','),
    content.dst.join(','),
  ].join('|');
}

function equal(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  if (a.size !== b.size) return false;
  for (const v of a) if (!b.has(v)) return false;
  return true;
}

function equalMap(a: ReadonlyMap<number, boolean>, b: ReadonlyMap<number, boolean>): boolean {
  if (a.size !== b.size) return false;
  for (const [k, v] of a) if (b.get(k) !== v) return false;
  return true;
}

/** Splits the content into parts that hang together, and arranges each. */
function makeShape(
  content: GroupContent,
  signature: string,
  seedOf: ((item: number) => number) | null,
  known: Map<string, Arrangement>,
): Shape {
  const items = content.items.length;
  const nodes = items + content.ports.length;
  const parent = Int32Array.from({ length: nodes }, (_, v) => v);
  const find = (v: number): number => {
    let at = v;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]!]!;
      at = parent[at]!;
    }
    return at;
  };
  for (let e = 0; e < content.src.length; e++) parent[find(content.src[e]!)] = find(content.dst[e]!);
  // Ports belong to the border, so all that reaches them is one block.
  for (let p = items + 1; p < nodes; p++) parent[find(p)] = find(items);
  const byRoot = new Map<number, Block>();
  for (let v = 0; v < nodes; v++) {
    const root = find(v);
    const block = byRoot.get(root);
    if (block) block.nodes.push(v);
    else byRoot.set(root, { nodes: [v], edges: [], arrangement: null });
  }
  for (let e = 0; e < content.src.length; e++) byRoot.get(find(content.src[e]!))!.edges.push(e);
  const blocks = [...byRoot.values()];
  const rootOfPorts = nodes > items ? find(items) : -1;
  blocks.sort(
    (a, b) =>
      Number(find(b.nodes[0]!) === rootOfPorts) - Number(find(a.nodes[0]!) === rootOfPorts) ||
      b.nodes.length - a.nodes.length,
  );
  const order = new Map<number, number>();
  for (const block of blocks) {
    if (block.nodes.length === 1 && block.nodes[0]! < items) {
      order.set(content.items[block.nodes[0]!]!, 0.5);
      continue;
    }
    const local = new Map(block.nodes.map((v, i) => [v, i]));
    const seed = seedOf
      ? Float64Array.from(block.nodes, (v) => (v < items ? seedOf(content.items[v]!) : NaN))
      : null;
    const graph = {
      n: block.nodes.length,
      src: Int32Array.from(block.edges, (e) => local.get(content.src[e]!)!),
      dst: Int32Array.from(block.edges, (e) => local.get(content.dst[e]!)!),
      weight: Float64Array.from(block.edges, (e) => (content.data[e]! > 0 ? 4 : 1)),
      role: Uint8Array.from(block.nodes, (v) =>
        v < items ? 0 : content.ports[v - items]!.outgoing ? EXIT : ENTRY,
      ),
    };
    if (seed) block.arrangement = arrange({ ...graph, seed }, MANY);
    else {
      // Repeated scopes are arranged once.
      const key = `${graph.n}|${graph.src.join()}|${graph.dst.join()}|${graph.weight.join()}|${graph.role.join()}`;
      block.arrangement = known.get(key) ?? arrange(graph, MANY);
      known.set(key, block.arrangement);
    }
    const across = horizontalOrder(block.arrangement, graph.n);
    block.nodes.forEach((v, i) => {
      if (v < items) order.set(content.items[v]!, across[i]!);
    });
  }
  return { signature, content, blocks, order };
}

interface NodeSizes {
  w: Float64Array;
  h: Float64Array;
  reserve: Float64Array;
  srcPort: Float64Array;
  dstPort: Float64Array;
}

/** Places the first block, and the others in rows beneath it, or beside it where edges leave below. */
function placeBlocks(blocks: Block[], content: GroupContent, sizes: NodeSizes, known: Placements): Placed {
  const nodes = sizes.w.length;
  const m = content.src.length;
  const x = new Float64Array(nodes);
  const y = new Float64Array(nodes);
  const routes: (Float32Array | null)[] = new Array(m).fill(null);
  const placed = blocks.map((block) => {
    if (!block.arrangement) {
      const v = block.nodes[0]!;
      return {
        x: Float64Array.of(sizes.w[v]! / 2),
        y: Float64Array.of(sizes.h[v]! / 2),
        width: sizes.w[v]! + sizes.reserve[v]!,
        height: sizes.h[v]!,
        points: new Float32Array(0),
        start: new Int32Array(1),
      };
    }
    const pick = (of: Float64Array, by: number[]) => Float64Array.from(by, (i) => of[i]!);
    const own = {
      width: pick(sizes.w, block.nodes),
      height: pick(sizes.h, block.nodes),
      reserve: pick(sizes.reserve, block.nodes),
      srcPort: pick(sizes.srcPort, block.edges),
      dstPort: pick(sizes.dstPort, block.edges),
    };
    const key = `${own.width.join()}|${own.height.join()}|${own.reserve.join()}|${own.srcPort.join()}|${own.dstPort.join()}`;
    let kept = known.get(block.arrangement);
    if (!kept) {
      if (known.size > MOST_KEPT) known.clear();
      kept = new Map();
      known.set(block.arrangement, kept);
    }
    if (kept.size > 200) kept.clear();
    const one = kept.get(key) ?? place(block.arrangement, own);
    kept.set(key, one);
    return one;
  });
  let width = 0;
  let height = 0;
  const put = (i: number, left: number, top: number) => {
    const block = blocks[i]!;
    const one = placed[i]!;
    block.nodes.forEach((v, k) => {
      x[v] = one.x[k]! + left;
      y[v] = one.y[k]! + top;
    });
    block.edges.forEach((e, k) => {
      const route = one.points.slice(2 * one.start[k]!, 2 * one.start[k + 1]!);
      for (let p = 0; p < route.length; p += 2) {
        route[p]! += left;
        route[p + 1]! += top;
      }
      routes[e] = route;
    });
    width = Math.max(width, left + one.width);
    height = Math.max(height, top + one.height);
  };
  const hasPorts = content.ports.length > 0;
  const main = blocks.length > 0 && blocks[0]!.arrangement ? 1 : 0;
  if (main === 1) put(0, 0, 0);
  if (blocks.length > main) {
    const rest = placed.slice(main);
    let area = 0;
    for (const one of rest) area += (one.width + BLOCK_GAP) * (one.height + BLOCK_GAP);
    const exits = content.ports.some((p) => p.outgoing);
    const beside = main === 1 && (exits || height > 1.3 * width);
    // Entry edges come down to the first rank; what stands beside begins under the title.
    const startTop = beside ? (hasPorts ? TITLE_HEIGHT : 0) : main === 1 ? height + BLOCK_GAP : 0;
    const startLeft = beside ? width + BLOCK_GAP : 0;
    const line = beside
      ? Math.max(Math.sqrt(area * 0.7), ...rest.map((one) => one.width))
      : Math.max(main === 1 ? width : 0, Math.sqrt(area * 1.7), ...rest.map((one) => one.width));
    let left = 0;
    let top = startTop;
    let row = 0;
    rest.forEach((one, i) => {
      if (left > 0 && left + one.width > line) {
        left = 0;
        top += row + 22;
        row = 0;
      }
      put(main + i, startLeft + left, top);
      left += one.width + 22;
      row = Math.max(row, one.height);
    });
  }
  // Exits stay on the lower border when something beside is taller.
  content.ports.forEach((port, i) => {
    const v = content.items.length + i;
    if (port.outgoing) y[v] = height;
  });
  let count = 0;
  for (const route of routes) count += route?.length ?? 0;
  const points = new Float32Array(count);
  const start = new Int32Array(m + 1);
  let at = 0;
  routes.forEach((route, e) => {
    start[e] = at / 2;
    if (route) {
      points.set(route, at);
      at += route.length;
    }
  });
  start[m] = at / 2;
  return { x, y, width, height, points, start };
}

/** Gathers the places of all that is shown, in units of the scene. */
class Collector {
  private readonly model: GraphModel;
  private readonly view: ViewState;
  private readonly laid: Map<number, Laid>;
  private readonly item: number[] = [];
  private readonly kind: number[] = [];
  private readonly flags: number[] = [];
  private readonly parent: number[] = [];
  private readonly depth: number[] = [];
  private readonly box: number[] = [];
  private readonly strips: number[] = [];
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly edgeGroup: number[] = [];
  private readonly edgeFlags: number[] = [];
  private readonly data: number[] = [];
  private readonly control: number[] = [];
  private readonly bytes: number[] = [];
  private points = new Float32Array(1 << 14);
  private pointCount = 0;
  private readonly pointStart: number[] = [0];
  private readonly edgeBox: number[] = [];
  private readonly stubs: number[] = [];

  private readonly sizeOf: (item: number) => [number, number];

  constructor(
    model: GraphModel,
    view: ViewState,
    laid: Map<number, Laid>,
    sizeOf: (item: number) => [number, number],
  ) {
    this.model = model;
    this.view = view;
    this.laid = laid;
    this.sizeOf = sizeOf;
  }

  collect(): Scene {
    const root = this.laid.get(this.model.root)!;
    this.group(this.model.root, -1, 0, 0, 0);
    return {
      item: Int32Array.from(this.item),
      kind: Uint8Array.from(this.kind),
      flags: Uint8Array.from(this.flags),
      parent: Int32Array.from(this.parent),
      depth: Uint8Array.from(this.depth),
      box: Float32Array.from(this.box),
      strips: Float32Array.from(this.strips),
      from: Int32Array.from(this.from),
      to: Int32Array.from(this.to),
      edgeGroup: Int32Array.from(this.edgeGroup),
      edgeFlags: Uint8Array.from(this.edgeFlags),
      data: Uint32Array.from(this.data),
      control: Uint32Array.from(this.control),
      bytes: Float64Array.from(this.bytes),
      points: this.points.slice(0, this.pointCount),
      pointStart: Int32Array.from(this.pointStart),
      edgeBox: Float32Array.from(this.edgeBox),
      stubs: Int32Array.from(this.stubs),
      width: root.width,
      height: root.height,
    };
  }

  private group(group: number, index: number, left: number, top: number, depth: number): void {
    const { model } = this;
    const laid = this.laid.get(group)!;
    const { content } = laid.shape;
    const items = content.items.length;
    if (laid.strip) {
      const [x, y, w, h] = laid.strip;
      this.strips.push(index, left + x, top + y, w, h);
    }
    const opened: [number, number, number, number][] = [];
    const add = (item: number, x: number, y: number, inSide: boolean): number => {
      const at = this.item.push(item) - 1;
      const open = isOpen(model, this.view, item);
      let kind = OP;
      if (item >= model.total) kind = STACK;
      else if (open) kind = OPENED;
      else if (model.isGroup(item)) kind = GROUP;
      else if (model.opName(item) === 'Const') kind = CONST;
      const laidOut = open ? this.laid.get(item)! : null;
      const [w, h] = laidOut ? [laidOut.width, laidOut.height] : this.sizeOf(item);
      this.kind.push(kind);
      this.flags.push(inSide ? IN_SIDE : 0);
      this.parent.push(index);
      this.depth.push(depth);
      this.box.push(x, y, w, h);
      if (open) opened.push([item, at, x, y]);
      return at;
    };
    content.items.forEach((item, i) => {
      const at = add(item, left + laid.left[i]!, top + laid.top[i]!, false);
      if (isOpen(model, this.view, item)) return;
      for (const stub of content.stubs.get(item) ?? []) {
        this.stubs.push(at, stub.item, stub.outgoing ? 1 : 0, stub.count);
      }
    });
    content.side.forEach((item, i) => {
      add(item, left + laid.sideLeft[i]!, top + laid.sideTop[i]!, true);
    });
    for (let e = 0; e < content.src.length; e++) {
      const first = laid.start[e]!;
      const end = laid.start[e + 1]!;
      if (first === end) continue;
      const a = content.src[e]!;
      const b = content.dst[e]!;
      this.from.push(a < items ? content.items[a]! : content.ports[a - items]!.key);
      this.to.push(b < items ? content.items[b]! : content.ports[b - items]!.key);
      this.edgeGroup.push(index);
      if (this.pointCount + 2 * (end - first) > this.points.length) {
        const more = new Float32Array(2 * this.points.length + 2 * (end - first));
        more.set(this.points);
        this.points = more;
      }
      let low = Infinity;
      let high = -Infinity;
      let up = Infinity;
      let down = -Infinity;
      for (let i = first; i < end; i++) {
        const x = laid.points[2 * i]! + left;
        const y = laid.points[2 * i + 1]! + top;
        this.points[this.pointCount++] = x;
        this.points[this.pointCount++] = y;
        low = Math.min(low, x);
        high = Math.max(high, x);
        up = Math.min(up, y);
        down = Math.max(down, y);
      }
      const rising = laid.points[2 * first + 1]! > laid.points[2 * end - 1]! ? UPWARDS : 0;
      this.edgeFlags.push((a >= items ? FROM_PORT : 0) | (b >= items ? TO_PORT : 0) | rising);
      this.pointStart.push(this.pointCount / 2);
      this.edgeBox.push(low, up, high, down);
      this.data.push(content.data[e]!);
      this.control.push(content.control[e]!);
      this.bytes.push(content.bytes[e]!);
    }
    for (const [item, at, x, y] of opened) this.group(item, at, x, y, depth + 1);
  }
}
