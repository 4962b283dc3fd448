/** How many ops of each kind, or on each device. */

import { useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { Session } from '../session/session.ts';

export function histogram(
  session: Session,
  vertices: number[],
  column: Uint16Array,
  names: string[],
): [string, number][] {
  const counts = new Map<number, number>();
  for (const v of vertices) {
    for (const op of session.model.opsBelow(v)) counts.set(column[op]!, (counts.get(column[op]!) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([i, n]) => [names[i] || '(none)', n]);
}

export function Bars({
  title,
  rows,
  fromEnd,
}: {
  title: string;
  rows: [string, number][];
  fromEnd?: boolean;
}) {
  const [most, setMost] = useState(8);
  const top = rows[0]?.[1] ?? 1;
  return (
    <section>
      <h3>
        {title} <span class="count">{rows.length}</span>
      </h3>
      <ul class="g-bars">
        {rows.slice(0, most).map(([name, n]) => (
          <li key={name}>
            <span class={fromEnd ? 'g-bar-name g-from-end' : 'g-bar-name'} title={safeText(name)}>
              <bdi>{safeText(name)}</bdi>
            </span>
            <meter min={0} max={top} value={n} aria-hidden="true" />
            <span class="g-bar-count">{count(n)}</span>
          </li>
        ))}
      </ul>
      {rows.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(1000)}>
          {rows.length - most} more
        </button>
      )}
    </section>
  );
}
