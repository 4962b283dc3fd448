/** A scene with spatial indices, and the index of each item. */
import Flatbush from 'flatbush';
import type { GraphModel } from '../model/graph_model.ts';
import type { Scene } from './scene.ts';

export interface SceneMessage {
  serial: number;
  scene: Scene;
  itemIndex: ArrayBuffer | null;
  edgeIndex: ArrayBuffer | null;
  milliseconds: number;
}

export function buildIndex(boxes: Float32Array, corners: boolean): ArrayBuffer | null {
  const n = boxes.length / 4;
  if (n === 0) return null;
  const index = new Flatbush(n, 16, Float32Array);
  for (let i = 0; i < n; i++) {
    const [a, b, c, d] = [boxes[4 * i]!, boxes[4 * i + 1]!, boxes[4 * i + 2]!, boxes[4 * i + 3]!];
    if (corners) index.add(a, b, c, d);
    else index.add(a, b, a + c, b + d);
  }
  index.finish();
  return index.data as ArrayBuffer;
}

export class IndexedScene {
  readonly scene: Scene;
  private readonly items: Flatbush | null;
  private readonly edges: Flatbush | null;
  readonly indexOf = new Map<number, number>();

  /** Members that are shown beside what is left of their series. */
  readonly pulled: ReadonlySet<number>;

  constructor(message: SceneMessage, pulled: ReadonlySet<number>) {
    this.pulled = pulled;
    this.scene = message.scene;
    this.items = message.itemIndex ? Flatbush.from(message.itemIndex) : null;
    this.edges = message.edgeIndex ? Flatbush.from(message.edgeIndex) : null;
    const { item } = this.scene;
    for (let i = 0; i < item.length; i++) this.indexOf.set(item[i]!, i);
  }

  itemsIn(left: number, top: number, right: number, bottom: number): number[] {
    return (this.items?.search(left, top, right, bottom) ?? []).sort((a, b) => a - b);
  }

  edgesIn(left: number, top: number, right: number, bottom: number): number[] {
    return this.edges?.search(left, top, right, bottom) ?? [];
  }

  private readonly labels = new Map<number, string>();

  /** The label of an edge: the shape of its tensor, or the number of tensors. */
  edgeLabel(model: GraphModel, e: number, from: number, to: number, data: number): string {
    let text = this.labels.get(e);
    if (text === undefined) {
      text = data > 1 ? `${data} tensors` : shapeOnEdge(model, from, to);
      this.labels.set(e, text);
    }
    return text;
  }

  /** The innermost item at a point, -1 for none. */
  at(x: number, y: number): number {
    const found = this.itemsIn(x, y, x, y);
    return found.length > 0 ? found[found.length - 1]! : -1;
  }

  rect(i: number): { x: number; y: number; w: number; h: number } {
    const { box } = this.scene;
    return { x: box[4 * i]!, y: box[4 * i + 1]!, w: box[4 * i + 2]!, h: box[4 * i + 3]! };
  }
}

const MOST_LOOKED_AT = 4000;

/** The shape of the one tensor that flows from an item to another. */
function shapeOnEdge(model: GraphModel, from: number, to: number): string {
  if (from >= 0 && from < model.ops) return model.shortShape(from);
  if (from < 0 || from >= model.total || model.size[from]! > MOST_LOOKED_AT) return '';
  if (to < 0) return '';
  const target = to < model.total ? to : model.members[to - model.total]![0]!;
  for (const u of model.opsBelow(from)) {
    for (let e = model.outStart[u]!; e < model.outStart[u + 1]!; e++) {
      if (model.edgePort[e]! >= 0 && model.isBelow(model.edgeDst[e]!, target)) return model.shortShape(u);
    }
  }
  return '';
}
