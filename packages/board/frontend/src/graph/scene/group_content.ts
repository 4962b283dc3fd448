/** The content of an opened group: items, edges between them, and ports for edges that cross its border. */
import type { GraphModel } from '../model/graph_model.ts';
import { isAuxiliary, itemOf, type ViewState } from '../model/view_state.ts';

/** The key of the port that stands for all ports beyond the limit. */
export const MORE = -2;
const MOST_PORTS = 14;

export interface Port {
  outgoing: boolean;
  key: number;
}

export interface Stub {
  item: number;
  outgoing: boolean;
  count: number;
}

export interface GroupContent {
  group: number;
  /** Items of the main graph; nodes of the layout are these, then the ports. */
  items: number[];
  auxiliary: number[];
  ports: Port[];
  /** Edges between nodes. */
  src: number[];
  dst: number[];
  data: number[];
  control: number[];
  bytes: number[];
  /** Edges to and from auxiliary nodes, by the item (not its index) of the main graph. */
  stubs: Map<number, Stub[]>;
  /** How many edges each auxiliary item has. */
  auxiliaryDegree: Map<number, number>;
}

interface Bundle {
  a: number;
  b: number;
  data: number;
  control: number;
  bytes: number;
}

export function groupContent(model: GraphModel, view: ViewState, group: number): GroupContent {
  const items: number[] = [];
  const auxiliary: number[] = [];
  const index = new Map<number, number>();
  for (const v of model.children(group)) {
    const item = itemOf(model, view, v);
    if (item < 0 || index.has(item)) continue;
    if (isAuxiliary(model, view, item)) {
      index.set(item, -1);
      auxiliary.push(item);
    } else index.set(item, items.push(item) - 1);
  }
  const content: GroupContent = {
    group,
    items,
    auxiliary,
    ports: [],
    src: [],
    dst: [],
    data: [],
    control: [],
    bytes: [],
    stubs: new Map(),
    auxiliaryDegree: new Map(),
  };
  const bundles = new Map<number, Bundle>();
  const width = model.total + model.members.length + 4;
  const add = (a: number, b: number, data: number, control: number, bytes: number) => {
    const key = a * width + b;
    const known = bundles.get(key);
    if (known) {
      known.data += data;
      known.control += control;
      known.bytes += bytes;
    } else bundles.set(key, { a, b, data, control, bytes });
  };
  for (let k = model.metaStart[group - model.root]!; k < model.metaStart[group - model.root + 1]!; k++) {
    const from = model.metaSrc[k]!;
    const to = model.metaDst[k]!;
    const a = itemOf(model, view, from);
    const b = itemOf(model, view, to);
    if (a < 0 || b < 0 || a === b) continue;
    const count = model.metaData[k]! + model.metaControl[k]!;
    const aIndex = index.get(a)!;
    const bIndex = index.get(b)!;
    if (aIndex < 0 || bIndex < 0) {
      if (aIndex < 0) content.auxiliaryDegree.set(a, (content.auxiliaryDegree.get(a) ?? 0) + count);
      if (bIndex < 0) content.auxiliaryDegree.set(b, (content.auxiliaryDegree.get(b) ?? 0) + count);
      if (aIndex >= 0) stub(content, a, b, true, count);
      else if (bIndex >= 0) stub(content, b, a, false, count);
      continue;
    }
    add(aIndex, bIndex, model.metaData[k]!, model.metaControl[k]!, model.metaBytes[k]!);
  }
  for (const { a, b, data, control, bytes } of bundles.values()) {
    content.src.push(a);
    content.dst.push(b);
    content.data.push(data);
    content.control.push(control);
    content.bytes.push(bytes);
  }
  if (group !== model.root && auxiliary.length + items.length > 0) crossBorder(model, view, content, index);
  return content;
}

function stub(content: GroupContent, item: number, other: number, outgoing: boolean, count: number): void {
  const list = content.stubs.get(item);
  const known = list?.find((s) => s.item === other && s.outgoing === outgoing);
  if (known) known.count += count;
  else if (list) list.push({ item: other, outgoing, count });
  else content.stubs.set(item, [{ item: other, outgoing, count }]);
}

/** Makes ports from the op edges that cross the border of the group. */
function crossBorder(
  model: GraphModel,
  view: ViewState,
  content: GroupContent,
  index: Map<number, number>,
): void {
  const { group } = content;
  const low = model.order[group]!;
  const high = model.last[group]!;
  const sideOf = new Map<number, boolean>();
  const stands = (item: number): boolean => {
    let known = sideOf.get(item);
    if (known === undefined) {
      known = isAuxiliary(model, view, item);
      sideOf.set(item, known);
    }
    return known;
  };
  const outer = new Map<number, { item: number; hidden: boolean }>();
  /** The port of an op outside: the outermost item that contains the op but not the group, and the direction. */
  const outerOf = (v: number) => {
    let known = outer.get(v);
    if (known) return known;
    let inner = group;
    while (!model.isBelow(v, model.parent[inner]!)) inner = model.parent[inner]!;
    const meeting = model.parent[inner]!;
    const item = itemOf(model, view, model.childTowards(meeting, v));
    // Edges of auxiliary nodes across the border are not drawn either.
    known = { item, hidden: item < 0 || stands(item) || stands(itemOf(model, view, inner)) };
    outer.set(v, known);
    return known;
  };
  const flows = new Map<number, { port: Port; item: number; data: number; control: number; bytes: number }>();
  // Ports by number: twice the key, and one more for those that lead out.
  const weightOf = new Map<number, number>();
  const width = content.items.length + 1;
  let child = -1;
  let childEnd = -1;
  let item = -1;
  const cross = (e: number, v: number, outgoing: boolean) => {
    const { item: key, hidden } = outerOf(v);
    if (key < 0) return;
    if (hidden || index.get(item) === -1) {
      if (hidden && index.get(item)! >= 0) stub(content, item, key, outgoing, 1);
      if (index.get(item) === -1)
        content.auxiliaryDegree.set(item, (content.auxiliaryDegree.get(item) ?? 0) + 1);
      return;
    }
    const control = model.edgePort[e]! < 0;
    const name = 2 * key + (outgoing ? 1 : 0);
    weightOf.set(name, (weightOf.get(name) ?? 0) + (control ? 0.1 : 1));
    const flowKey = name * width + index.get(item)!;
    let flow = flows.get(flowKey);
    if (!flow) {
      flow = { port: { outgoing, key }, item, data: 0, control: 0, bytes: 0 };
      flows.set(flowKey, flow);
    }
    if (control) flow.control++;
    else {
      flow.data++;
      flow.bytes += Math.max(0, model.outputBytes[model.edgeSrc[e]!] ?? 0);
    }
  };
  for (let at = low + 1; at <= high; at++) {
    const u = model.walk[at]!;
    if (at > childEnd) {
      child = u;
      childEnd = model.last[child]!;
      item = itemOf(model, view, child);
    }
    if (u >= model.ops || item < 0) continue;
    if (view.hidden.size > 0 && view.hidden.has(model.op[u]!)) continue;
    for (let e = model.outStart[u]!; e < model.outStart[u + 1]!; e++) {
      const v = model.edgeDst[e]!;
      const p = model.order[v]!;
      if (p < low || p > high) cross(e, v, true);
    }
    for (let k = model.inStart[u]!; k < model.inStart[u + 1]!; k++) {
      const e = model.inEdge[k]!;
      const v = model.edgeSrc[e]!;
      const p = model.order[v]!;
      if (p < low || p > high) cross(e, v, false);
    }
  }
  // Ports beyond the limit share one port.
  const names = [...weightOf].sort((a, b) => b[1] - a[1]);
  const kept = new Set<number>();
  for (const side of [0, 1]) {
    const own = names.filter(([name]) => name % 2 === side);
    const most = own.length > MOST_PORTS ? MOST_PORTS - 1 : own.length;
    for (const [name] of own.slice(0, most)) kept.add(name);
  }
  const ports = new Map<number, number>();
  const merged = new Map<number, number>();
  for (const { port, item: inner, data, control, bytes } of flows.values()) {
    const side = port.outgoing ? 1 : 0;
    const key = kept.has(2 * port.key + side) ? port.key : MORE;
    let p = ports.get(2 * key + side);
    if (p === undefined) {
      p = content.items.length + content.ports.push({ outgoing: port.outgoing, key }) - 1;
      ports.set(2 * key + side, p);
    }
    const node = index.get(inner)!;
    const edgeKey = p * width + node;
    const known = merged.get(edgeKey);
    if (known !== undefined) {
      content.data[known]! += data;
      content.control[known]! += control;
      content.bytes[known]! += bytes;
      continue;
    }
    merged.set(edgeKey, content.src.length);
    content.src.push(port.outgoing ? node : p);
    content.dst.push(port.outgoing ? p : node);
    content.data.push(data);
    content.control.push(control);
    content.bytes.push(bytes);
  }
}
