/** Assigns nodes to layers, with dummy nodes where edges pass ranks; splits wide layers. */
import { edgesToReverse } from './cycles.ts';
import { ENTRY, EXIT, INNER, type LayeredGraph, type OrderedLayers } from './layered_graph.ts';
import { ranks } from './ranks.ts';

/** The width of a box with its gaps over its height, about. */
const BOX_ASPECT = 1.6;
const MOST_ASPECT = 3.5;

/** Ranks, dummy nodes and segments of a graph; the order within layers is still that of the input. */
export function makeLayers(graph: LayeredGraph, split: boolean): OrderedLayers {
  const { n, src } = graph;
  const role = graph.role ?? new Uint8Array(n);
  const weight = graph.weight ?? new Float64Array(src.length).fill(1);
  const { rank, reversed } = rankNodes(graph, role, weight, split);
  const { edgeStart, chain, dummies, ...segments } = makeSegments(graph, rank, reversed, weight);
  const finalRank = Int32Array.from([...rank, ...dummies]);
  const layers = layersOf(finalRank);
  const total = finalRank.length;
  const position = new Int32Array(total);
  for (const layer of layers) for (let i = 0; i < layer.length; i++) position[layer[i]!] = i;
  const roles = new Uint8Array(total).fill(INNER);
  roles.set(role);
  return {
    n,
    total,
    rank: finalRank,
    layers,
    position,
    ...segments,
    edgeStart,
    chain,
    reversed,
    role: roles,
    crossings: 0,
  };
}

function layersOf(rank: Int32Array): Int32Array[] {
  let needed = 0;
  for (const r of rank) needed = Math.max(needed, r + 1);
  const filled: number[][] = Array.from({ length: needed }, () => []);
  for (let v = 0; v < rank.length; v++) filled[rank[v]!]!.push(v);
  return filled.map((layer) => Int32Array.from(layer));
}

/** The rank of each node, and which edges run against the ranks. */
function rankNodes(
  { n, src, dst, back }: LayeredGraph,
  role: Uint8Array,
  weight: Float64Array,
  split: boolean,
): { rank: Int32Array; reversed: Uint8Array } {
  const m = src.length;
  const reversed = new Uint8Array(m);
  // Ports lie on the border whatever they are connected to, so they take no part in the ranking.
  const innerId = new Int32Array(n).fill(-1);
  let inner = 0;
  for (let v = 0; v < n; v++) if (role[v] === INNER) innerId[v] = inner++;
  const kept: number[] = [];
  for (let e = 0; e < m; e++) {
    if (src[e] !== dst[e] && role[src[e]!] === INNER && role[dst[e]!] === INNER) kept.push(e);
  }
  const from = Int32Array.from(kept, (e) => innerId[src[e]!]!);
  const to = Int32Array.from(kept, (e) => innerId[dst[e]!]!);
  const leadsBack = back && Uint8Array.from(kept, (e) => back[e]!);
  const turned = edgesToReverse(inner, from, to, leadsBack?.includes(1) ? leadsBack : undefined);
  kept.forEach((e, i) => {
    reversed[e] = turned[i]!;
  });
  const upper = from.map((s, i) => (turned[i] ? to[i]! : s));
  const lower = to.map((d, i) => (turned[i] ? from[i]! : d));
  const innerWeight = Float64Array.from(kept, (e) => weight[e]!);
  let innerRank = ranks(inner, upper, lower, innerWeight);
  if (split) innerRank = splitWideRanks(innerRank, upper, lower);
  let last = 0;
  for (const r of innerRank) last = Math.max(last, r);
  const shift = role.includes(ENTRY) ? 1 : 0;
  const rank = new Int32Array(n);
  for (let v = 0; v < n; v++) {
    if (role[v] === ENTRY) rank[v] = 0;
    else if (role[v] === EXIT) rank[v] = last + shift + 1;
    else rank[v] = innerRank[innerId[v]!]! + shift;
  }
  for (let e = 0; e < m; e++) if (rank[dst[e]!]! < rank[src[e]!]!) reversed[e] = 1;
  return { rank, reversed };
}

interface Segments {
  segmentUpper: Int32Array;
  segmentLower: Int32Array;
  segmentWeight: Float64Array;
  edgeStart: Int32Array;
  chain: Int32Array;
  /** Ranks of the dummy nodes, which are numbered after the real ones. */
  dummies: number[];
}

/** Cuts edges into segments between neighbouring ranks, joined by dummy nodes. */
function makeSegments(
  { n, src, dst }: LayeredGraph,
  rank: Int32Array,
  reversed: Uint8Array,
  weight: Float64Array,
): Segments {
  const m = src.length;
  const { edgeStart, longOut, longIn } = countSegments(n, src, dst, rank);
  // Long edges of one node share their dummies (a trunk): at the end that has more of them.
  const chain = new Int32Array(edgeStart[m]!);
  const uppers: number[] = [];
  const lowers: number[] = [];
  const weights: number[] = [];
  const known = new Map<string, number>();
  const dummies: number[] = [];
  const rankOf = (v: number) => (v < n ? rank[v]! : dummies[v - n]!);
  const dummy = (owner: number, end: string, at: number): number => {
    const key = `${end}${owner}:${at}`;
    let v = known.get(key);
    if (v === undefined) {
      v = n + dummies.push(at) - 1;
      known.set(key, v);
    }
    return v;
  };
  for (let e = 0; e < m; e++) {
    const a = reversed[e] ? dst[e]! : src[e]!;
    const b = reversed[e] ? src[e]! : dst[e]!;
    // Reversed edges share no dummies, or a loop would look like a fork.
    const own = reversed[e] ? `e${e}` : '';
    const ofUpper = longOut[a]! >= longIn[b]!;
    let upper = a;
    const end = edgeStart[e + 1]!;
    for (let s = edgeStart[e]!; s < end; s++) {
      const lower =
        s === end - 1 ? b : dummy(ofUpper ? a : b, `${ofUpper ? 'a' : 'b'}${own}`, rankOf(upper) + 1);
      const key = `${upper}>${lower}${upper < n && lower < n ? `e${e}` : ''}`;
      let segment = known.get(key);
      if (segment === undefined) {
        segment = uppers.push(upper) - 1;
        lowers.push(lower);
        weights.push(0);
        known.set(key, segment);
      }
      weights[segment]! += weight[e]!;
      chain[s] = segment;
      upper = lower;
    }
  }
  return {
    segmentUpper: Int32Array.from(uppers),
    segmentLower: Int32Array.from(lowers),
    segmentWeight: Float64Array.from(weights),
    edgeStart,
    chain,
    dummies,
  };
}

/** Where the segments of each edge begin, and how many long edges leave and reach each node downwards. */
function countSegments(n: number, src: Int32Array, dst: Int32Array, rank: Int32Array) {
  const m = src.length;
  const edgeStart = new Int32Array(m + 1);
  const longOut = new Int32Array(n);
  const longIn = new Int32Array(n);
  let count = 0;
  for (let e = 0; e < m; e++) {
    edgeStart[e] = count;
    const span = rank[dst[e]!]! - rank[src[e]!]!;
    count += Math.abs(span);
    if (Math.abs(span) < 2) continue;
    longOut[span < 0 ? dst[e]! : src[e]!]!++;
    longIn[span < 0 ? src[e]! : dst[e]!]!++;
  }
  edgeStart[m] = count;
  return { edgeStart, longOut, longIn };
}

/** Spreads wide ranks over several: sinks move down, sources stay up. */
function splitWideRanks(rank: Int32Array, src: Int32Array, dst: Int32Array): Int32Array<ArrayBuffer> {
  const n = rank.length;
  const most = Math.max(9, Math.ceil(1.1 * Math.sqrt(n)));
  const members: number[][] = [];
  for (let v = 0; v < n; v++) {
    members[rank[v]!] ??= [];
    members[rank[v]!]!.push(v);
  }
  const result = new Int32Array(rank);
  const widest = members.reduce((a, m) => Math.max(a, m?.length ?? 0), 0);
  if (widest <= most || widest * BOX_ASPECT < MOST_ASPECT * members.length) return result;
  const fed = new Uint8Array(n);
  const feeds = new Uint8Array(n);
  for (const s of src) feeds[s] = 1;
  for (const d of dst) fed[d] = 1;
  let next = 0;
  for (const layer of members) {
    if (!layer) continue;
    const kind = (v: number) => (feeds[v] ? 0 : 1) - (fed[v] ? 0 : 1);
    const sorted = layer.length > most ? [...layer].sort((a, b) => kind(a) - kind(b) || a - b) : layer;
    const rows = Math.ceil(layer.length / most);
    const perRow = Math.ceil(layer.length / rows);
    sorted.forEach((v, i) => {
      result[v] = next + Math.floor(i / perRow);
    });
    next += rows;
  }
  return result;
}
