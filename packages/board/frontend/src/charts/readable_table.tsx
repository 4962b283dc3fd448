/** A chart in words, for those who do not see it: what each curve has last, least and greatest. */

import { useMemo } from 'preact/hooks';
import { safeText } from '../strings/safe_text.ts';
import { shortNumber } from '../units/numbers.ts';
import { type Curve, SUPERSEDED } from './chart_model.ts';

const MOST_ROWS = 30;

export function ReadableTable({ title, curves }: { title: string; curves: Curve[] }) {
  const rows = useMemo(() => curves.slice(0, MOST_ROWS).map(summary), [curves]);
  return (
    <table class="hidden-for-the-eye">
      <caption>
        {safeText(title, 200)}: {curves.length} curves
        {curves.length > rows.length && `, of which these are the first ${rows.length}`}
      </caption>
      <thead>
        <tr>
          <th>run</th>
          <th>last</th>
          <th>min</th>
          <th>max</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, name, last, least, greatest }) => (
          <tr key={id}>
            <th scope="row">{name}</th>
            <td>{last}</td>
            <td>{least}</td>
            <td>{greatest}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The logged values, not the smoothed ones. */
function summary({ id, label, tag, y, raw, flags }: Curve) {
  const values = raw ?? y;
  let last = Number.NaN;
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    if (flags && flags[i]! & SUPERSEDED) continue;
    last = values[i]!;
    if (Number.isFinite(last)) {
      least = Math.min(least, last);
      greatest = Math.max(greatest, last);
    }
  }
  const textOf = (value: number) => (least > greatest ? 'none' : shortNumber(value));
  return {
    id,
    name: safeText(`${label} ${tag}`, 200),
    last: values.length > 0 ? shortNumber(last) : 'none',
    least: textOf(least),
    greatest: textOf(greatest),
  };
}
