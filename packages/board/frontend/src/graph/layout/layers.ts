/** Layers with dummy nodes where edges pass ranks, and wide layers split in several. */
import { edgesToReverse } from './cycles.ts';
import { ENTRY, EXIT, INNER, type LayeredGraph, type OrderedLayers } from './layered_graph.ts';
import { ranks } from './ranks.ts';

/** A box with its gaps is about so much wider than high. */
const BOX_ASPECT = 1.6;
const MOST_ASPECT = 3.5;

/** Ranks, dummies and segments of a graph; the order within layers is still that of the input. */
export function makeLayers(graph: LayeredGraph, split: boolean): OrderedLayers {
  const { n, src, dst } = graph;
  const m = src.length;
  const role = graph.role ?? new Uint8Array(n);
  const weight = graph.weight ?? new Float64Array(m).fill(1);
  const rank = new Int32Array(n);
  const reversed = new Uint8Array(m);

  // Ports lie on the border whatever they are joined to, so they take no part in the ranking.
  const innerId = new Int32Array(n).fill(-1);
  const inner: number[] = [];
  for (let v = 0; v < n; v++) if (role[v] === INNER) innerId[v] = inner.push(v) - 1;
  const kept: number[] = [];
  for (let e = 0; e < m; e++) {
    if (src[e] !== dst[e] && role[src[e]!] === INNER && role[dst[e]!] === INNER) kept.push(e);
  }
  let from = Int32Array.from(kept, (e) => innerId[src[e]!]!);
  let to = Int32Array.from(kept, (e) => innerId[dst[e]!]!);
  const back = graph.back ? Uint8Array.from(kept, (e) => graph.back![e]!) : undefined;
  const turn = edgesToReverse(inner.length, from, to, back?.includes(1) ? back : undefined);
  kept.forEach((e, i) => {
    reversed[e] = turn[i]!;
  });
  [from, to] = [from.map((s, i) => (turn[i] ? to[i]! : s)), to.map((d, i) => (turn[i] ? from[i]! : d))];
  let innerRank = ranks(
    inner.length,
    from,
    to,
    Float64Array.from(kept, (e) => weight[e]!),
  );
  if (split) innerRank = splitWideRanks(innerRank, from, to);
  let last = 0;
  for (const r of innerRank) last = Math.max(last, r);
  const hasEntry = role.includes(ENTRY);
  const shift = hasEntry ? 1 : 0;
  for (let v = 0; v < n; v++) {
    if (role[v] === ENTRY) rank[v] = 0;
    else if (role[v] === EXIT) rank[v] = last + shift + 1;
    else rank[v] = innerRank[innerId[v]!]! + shift;
  }

  let count = 0;
  const edgeStart = new Int32Array(m + 1);
  const longOut = new Int32Array(n);
  const longIn = new Int32Array(n);
  for (let e = 0; e < m; e++) {
    edgeStart[e] = count;
    const span = rank[dst[e]!]! - rank[src[e]!]!;
    count += Math.abs(span);
    if (span < 0) reversed[e] = 1;
    if (Math.abs(span) < 2) continue;
    longOut[span < 0 ? dst[e]! : src[e]!]!++;
    longIn[span < 0 ? src[e]! : dst[e]!]!++;
  }
  edgeStart[m] = count;
  // Long edges of one node share their dummies (a trunk): at the end that has more of them.
  const chain = new Int32Array(count);
  const uppers: number[] = [];
  const lowers: number[] = [];
  const weights: number[] = [];
  const known = new Map<string, number>();
  const ranksOf: number[] = Array.from(rank);
  const roles: number[] = Array.from(role);
  let total = n;
  const dummy = (owner: number, side: string, at: number): number => {
    const key = `${side}${owner}:${at}`;
    let v = known.get(key);
    if (v === undefined) {
      v = total++;
      known.set(key, v);
      ranksOf.push(at);
      roles.push(INNER);
    }
    return v;
  };
  for (let e = 0; e < m; e++) {
    const a = reversed[e] ? dst[e]! : src[e]!;
    const b = reversed[e] ? src[e]! : dst[e]!;
    // Turned edges keep to themselves, or a loop would look like a fork.
    const own = reversed[e] ? `e${e}` : '';
    const ofUpper = longOut[a]! >= longIn[b]!;
    let upper = a;
    const end = edgeStart[e + 1]!;
    for (let s = edgeStart[e]!; s < end; s++) {
      const lower =
        s === end - 1 ? b : dummy(ofUpper ? a : b, `${ofUpper ? 'a' : 'b'}${own}`, ranksOf[upper]! + 1);
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
  const segmentUpper = Int32Array.from(uppers);
  const segmentLower = Int32Array.from(lowers);
  const segmentWeight = Float64Array.from(weights);
  const finalRank = Int32Array.from(ranksOf);
  let ranksNeeded = 0;
  for (const r of finalRank) ranksNeeded = Math.max(ranksNeeded, r + 1);
  const filled: number[][] = Array.from({ length: ranksNeeded }, () => []);
  for (let v = 0; v < total; v++) filled[finalRank[v]!]!.push(v);
  const layers = filled.map((layer) => Int32Array.from(layer));
  const position = new Int32Array(total);
  for (const layer of layers) for (let i = 0; i < layer.length; i++) position[layer[i]!] = i;
  return {
    n,
    total,
    rank: finalRank,
    layers,
    position,
    segmentUpper,
    segmentLower,
    segmentWeight,
    edgeStart,
    chain,
    reversed,
    role: Uint8Array.from(roles),
    crossings: 0,
  };
}

/** Spreads ranks that would make a sliver over several: sinks go down, sources stay up. */
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
