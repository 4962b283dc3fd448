/** Lays out a view, inner groups first; groups that did not change keep their layout. */

import type { GraphModel } from '../model/graph_model.ts';
import { CLOSED, isOpen, type ViewState } from '../model/view_state.ts';
import { AUXILIARY_HEADING, placeAuxiliary } from './auxiliary_strip.ts';
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
import { type Placements, placeBlocks, type Shape } from './group_blocks.ts';
import { MORE } from './group_content.ts';
import { GroupShapes } from './group_shapes.ts';
import type { Scene } from './scene.ts';

export class ViewLayout {
  private readonly model: GraphModel;
  private readonly measure: Measure;
  private readonly shapes: GroupShapes;
  private readonly laid = new Map<number, Laid>();
  private view: ViewState = CLOSED;
  private readonly placements: Placements = new Map();
  private readonly closedSize = new Map<number, [number, number]>();

  constructor(model: GraphModel, measure: Measure = guessWidth) {
    this.model = model;
    this.shapes = new GroupShapes(model);
    this.measure = measure;
  }

  layout(view: ViewState): Scene {
    this.shapes.begin(view);
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
    else if (this.model.isGroup(item)) size = [Math.max(84, 1.05 * text + 36), GROUP_HEIGHT];
    else if (this.model.opName(item) === 'Const') size = [Math.max(44, text + 22), CONST_HEIGHT];
    else size = [Math.max(56, text + 30), OP_HEIGHT];
    size[0] = Math.round(size[0]);
    this.closedSize.set(item, size);
    return size;
  }

  private layGroup(group: number): Laid {
    const { model, view } = this;
    const shape = this.shapes.of(group);
    const { content } = shape;
    const width: number[] = [];
    const height: number[] = [];
    const opened: number[] = [];
    let sizes = '';
    for (const item of [...content.items, ...content.auxiliary]) {
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
    const strip = placeAuxiliary(
      content.auxiliary.map((item, i) => ({
        label: this.label(item),
        degree: content.auxiliaryDegree.get(item) ?? 0,
        width: width[items + i]!,
        height: height[items + i]!,
      })),
      placed.height,
    );
    const padTop = isRoot ? PAD : hasEntry ? 4 : TITLE_HEIGHT + 4;
    const padBottom = isRoot || !hasExit ? PAD : 0;
    const innerWidth = Math.max(placed.width, 40);
    const bodyHeight = Math.max(placed.height, hasEntry ? TITLE_HEIGHT : 0);
    const title = isRoot ? 0 : labelWidth(this.label(group), this.measure) + 110;
    const total = {
      width: Math.max(title, PAD + innerWidth + (strip ? strip.width + 2 * PAD : PAD)),
      height: Math.max(padTop + bodyHeight + padBottom, strip ? TITLE_HEIGHT + strip.height + 2 * PAD : 0),
    };
    const shiftX = PAD + (strip ? 0 : (total.width - 2 * PAD - innerWidth) / 2);
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
    const stripX = total.width - (strip ? strip.width + PAD : 0);
    return {
      shape,
      sizes,
      width: Math.round(total.width),
      height: Math.round(total.height),
      left,
      top,
      auxiliaryLeft: strip ? strip.left.map((x) => x + stripX) : [],
      auxiliaryTop: strip ? strip.top.map((y) => y + TITLE_HEIGHT + PAD / 2 + AUXILIARY_HEADING) : [],
      strip: strip
        ? [stripX - 10, TITLE_HEIGHT + PAD / 2 - 2, strip.width + 20, strip.height + AUXILIARY_HEADING - 12]
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
}
