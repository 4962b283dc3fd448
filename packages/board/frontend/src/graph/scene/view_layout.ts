/** Lays out a view, group by group from within; what did not change is taken from the last time. */

import type { Arrangement } from '../layout/layout_group.ts';
import type { GraphModel } from '../model/graph_model.ts';
import { CLOSED, isOpen, type ViewState } from '../model/view_state.ts';
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
import { Collector, type Laid } from './collect_scene.ts';
import { MOST_KEPT, makeShape, type Placements, placeBlocks, type Shape } from './group_blocks.ts';
import { type GroupContent, groupContent, MORE } from './group_content.ts';
import type { Scene } from './scene.ts';

const SIDE_GAP = 10;

const SIDE_HEADING = 22;

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
