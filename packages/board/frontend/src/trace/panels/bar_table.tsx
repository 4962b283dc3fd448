/** A table of names, bars and durations; ops have the colours of the timeline. */

import { useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { themeVersion } from '../../style/theme.ts';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { count, percent } from '../../units/numbers.ts';
import { colouring } from '../address/address_fields.ts';
import { LEVELS } from '../data/trace_items.ts';
import { hueOfText, kindOf } from '../draw/op_kinds.ts';
import { themeColours, toneOfHue } from '../draw/trace_colours.ts';

export interface Bar {
  name: string;
  /** The op whose colour it has; without it, the accent colour. */
  op?: string;
  ns: number;
  count?: number;
  note?: string;
  run?: () => void;
}

export function BarTable({ rows, whole, first = 12 }: { rows: Bar[]; whole: number; first?: number }) {
  const [all, setAll] = useState(false);
  void themeVersion.value;
  const ink = themeColours();
  const fillOf = (op: string | undefined) => {
    if (op === undefined) return ink.strong;
    const hue = colouring.value === 'op' ? hueOfText(op) : kindOf(op).hue;
    return toneOfHue('', hue, ink).fills[LEVELS]!;
  };
  const most = Math.max(1, ...rows.map((row) => row.ns));
  const seen = all ? rows : rows.slice(0, first);
  return (
    <>
      <table class="trace-bars">
        <tbody>
          {seen.map((row) => (
            <tr key={row.name}>
              <td class="trace-bar-name">
                <span
                  class="trace-bar"
                  style={{ width: `${(100 * row.ns) / most}%`, background: fillOf(row.op) }}
                />
                {row.run ? (
                  <button type="button" class="trace-link" onClick={row.run} title={safeText(row.name)}>
                    {safeText(row.name, 200)}
                  </button>
                ) : (
                  <span class="trace-name" title={safeText(row.name)}>
                    {safeText(row.name, 200)}
                  </span>
                )}
              </td>
              {row.count !== undefined && <td class="faint">{count(row.count)}×</td>}
              <td>{nanosecondsText(row.ns)}</td>
              <td class="faint">{row.note ?? percent(whole > 0 ? row.ns / whole : 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > first && (
        <button type="button" class="quiet trace-all" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `All ${rows.length}`}
        </button>
      )}
    </>
  );
}
