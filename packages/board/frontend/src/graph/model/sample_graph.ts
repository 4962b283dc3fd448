/** Makes a small model from node lines, for tests: "scope/name: Op <- input, ^control". */
import type { Column } from '../../api/columns.ts';
import { type GraphHeader, GraphModel, type Series } from './graph_model.ts';

interface SampleOptions {
  side?: string[];
  /** Labels of siblings that are one series, by their parent's path. */
  series?: { parent: string; pattern: string; members: string[] }[];
}

export function sampleGraph(lines: string[], options: SampleOptions = {}): GraphModel {
  const nodes = lines.map((line) => {
    const [head = '', tail = ''] = line.split('<-').map((part) => part.trim());
    const [name = '', op = 'NoOp'] = head.split(':').map((part) => part.trim());
    return { name, op, inputs: tail ? tail.split(',').map((t) => t.trim()) : [] };
  });
  const n = nodes.length;
  const groups = new Map<string, number>([['', n]]);
  const labels = nodes.map((node) => node.name.split('/').pop()!);
  const parent: number[] = new Array(n).fill(n);
  const depth: number[] = new Array(n).fill(1);
  labels.push('');
  parent.push(-1);
  depth.push(0);
  nodes.forEach((node, v) => {
    const parts = node.name.split('/');
    let at = n;
    for (let i = 1; i < parts.length; i++) {
      const path = parts.slice(0, i).join('/');
      let group = groups.get(path);
      if (group === undefined) {
        group = labels.push(parts[i - 1]!) - 1;
        groups.set(path, group);
        parent.push(at);
        depth.push(depth[at]! + 1);
      }
      at = group;
    }
    parent[v] = at;
    depth[v] = depth[at]! + 1;
  });
  const total = labels.length;
  const children: number[][] = Array.from({ length: total - n }, () => []);
  for (let v = 0; v < total; v++) if (parent[v]! >= 0) children[parent[v]! - n]!.push(v);
  const size = new Array<number>(total).fill(0);
  for (let v = 0; v < n; v++) for (let at = v; at >= 0; at = parent[at]!) size[at]!++;
  const index = new Map(nodes.map((node, v) => [node.name, v]));
  const edges = nodes.flatMap((node, v) =>
    node.inputs.map((text) => {
      const control = text.startsWith('^');
      return { src: index.get(text.replace('^', ''))!, dst: v, port: control ? -1 : 0 };
    }),
  );
  edges.sort((a, b) => a.src - b.src);
  const metas = new Map<string, { group: number; src: number; dst: number; data: number; control: number }>();
  for (const { src, dst, port } of edges) {
    let [a, b] = [src, dst];
    while (depth[a]! > depth[b]!) a = parent[a]!;
    while (depth[b]! > depth[a]!) b = parent[b]!;
    while (parent[a] !== parent[b]) [a, b] = [parent[a]!, parent[b]!];
    const key = `${a}>${b}`;
    const known = metas.get(key) ?? { group: parent[a]!, src: a, dst: b, data: 0, control: 0 };
    if (port < 0) known.control++;
    else known.data++;
    metas.set(key, known);
  }
  const metaedges = [...metas.values()].sort((a, b) => a.group - b.group);
  const vertexOf = (path: string) => groups.get(path) ?? index.get(path)!;
  const side = new Uint8Array(total);
  for (const path of options.side ?? []) side[vertexOf(path)] = 1;
  const series = new Int32Array(total).fill(-1);
  const seriesList: Series[] = (options.series ?? []).map((s, id) => {
    for (const m of s.members) series[vertexOf(s.parent ? `${s.parent}/${m}` : m)] = id;
    return {
      id,
      parent: vertexOf(s.parent),
      pattern: s.pattern,
      count: s.members.length,
      chain: false,
      varied: false,
    };
  });
  const ops = [...new Set(nodes.map((node) => node.op))];
  const firstChild = [0];
  for (const list of children) firstChild.push(firstChild[firstChild.length - 1]! + list.length);
  const i32 = (values: number[]) => Int32Array.from(values);
  const columns: Record<string, Column> = {
    parent: i32(parent),
    depth: Uint16Array.from(depth),
    op: Uint16Array.from({ length: total }, (_, v) => (v < n ? ops.indexOf(nodes[v]!.op) : 65535)),
    device: new Uint16Array(total),
    first_child: i32(firstChild),
    child: i32(children.flat()),
    size: Uint32Array.from(size),
    side,
    series,
    output_bytes: new Float64Array(total).fill(-1),
    meta_group: i32(metaedges.map((m) => m.group)),
    meta_src: i32(metaedges.map((m) => m.src)),
    meta_dst: i32(metaedges.map((m) => m.dst)),
    meta_data: Uint32Array.from(metaedges, (m) => m.data),
    meta_control: Uint32Array.from(metaedges, (m) => m.control),
    meta_bytes: new Float64Array(metaedges.length),
    edge_src: i32(edges.map((e) => e.src)),
    edge_dst: i32(edges.map((e) => e.dst)),
    edge_port: Int16Array.from(edges, (e) => e.port),
    labels: new TextEncoder().encode(labels.join('\n')) as Uint8Array<ArrayBuffer>,
  };
  const header: GraphHeader = {
    id: 0,
    title: 'sample',
    strings: { ops, devices: [''], shapes: [] },
    templates: [],
    families: [],
    series: seriesList,
    functions: [],
    problems: [],
  };
  return new GraphModel({ header, columns });
}
