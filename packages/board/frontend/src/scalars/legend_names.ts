/** The names of curves in a legend: what tells them apart. */
import type { Curve } from '../charts/chart_model.ts';

export interface LegendName {
  short: string;
  whole: string;
}

/** The run where only runs differ, the tag where only tags do, else both; without the folders that all share. */
export function legendNames(curves: Pick<Curve, 'label' | 'tag'>[]): LegendName[] {
  const differ = (key: 'label' | 'tag') => new Set(curves.map((curve) => curve[key])).size > 1;
  const [runs, tags] = [differ('label'), differ('tag')];
  const labels = withoutSharedFolders(curves.map((curve) => curve.label));
  const names = withoutSharedFolders(curves.map((curve) => curve.tag));
  return curves.map((curve, i) => ({
    short: tags && !runs ? names[i]! : tags ? `${labels[i]} · ${names[i]}` : labels[i] || curve.tag,
    whole: [curve.label, curve.tag].filter(Boolean).join(' · '),
  }));
}

/** `sweep/a`, `sweep/b` as `a`, `b`. */
function withoutSharedFolders(names: string[]): string[] {
  const first = names[0] ?? '';
  let shared = 0;
  for (let at = first.indexOf('/') + 1; at > 0; at = first.indexOf('/', at) + 1) {
    if (!names.every((name) => name.startsWith(first.slice(0, at)))) break;
    shared = at;
  }
  return new Set(names).size < 2 ? names : names.map((name) => name.slice(shared));
}
