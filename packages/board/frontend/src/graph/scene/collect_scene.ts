/** Collects the layouts of all groups in a scene. */
import type { GraphModel } from '../model/graph_model.ts';
import { isOpen, type ViewState } from '../model/view_state.ts';
import type { Shape } from './group_blocks.ts';
import {
  AUXILIARY,
  CONST,
  FROM_PORT,
  GROUP,
  OP,
  OPENED,
  type Scene,
  SERIES,
  TO_PORT,
  UPWARDS,
} from './scene.ts';

/** The layout of an opened group: positions of its children relative to its corner. */
export interface Laid {
  shape: Shape;
  sizes: string;
  width: number;
  height: number;
  /** Top left corners by node, then by side item, relative to the group. */
  left: Float64Array;
  top: Float64Array;
  auxiliaryLeft: number[];
  auxiliaryTop: number[];
  strip: [number, number, number, number] | null;
  points: Float32Array;
  start: Int32Array;
  portX: Map<string, number>;
}

/** Collects positions in units of the scene. */
export class Collector {
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
    const add = (item: number, x: number, y: number, isAuxiliaryItem: boolean): number => {
      const at = this.item.push(item) - 1;
      const open = isOpen(model, this.view, item);
      let kind = OP;
      if (item >= model.total) kind = SERIES;
      else if (open) kind = OPENED;
      else if (model.isGroup(item)) kind = GROUP;
      else if (model.opName(item) === 'Const') kind = CONST;
      const laidOut = open ? this.laid.get(item)! : null;
      const [w, h] = laidOut ? [laidOut.width, laidOut.height] : this.sizeOf(item);
      this.kind.push(kind);
      this.flags.push(isAuxiliaryItem ? AUXILIARY : 0);
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
    content.auxiliary.forEach((item, i) => {
      add(item, left + laid.auxiliaryLeft[i]!, top + laid.auxiliaryTop[i]!, true);
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
