/** How much the chosen metric hangs on each hyperparameter, as bars. */

import { safeText } from '../strings/safe_text.ts';
import { counted } from '../units/numbers.ts';
import { metRows, table, targetColumn } from './hparams_view.ts';
import { importances } from './rank_correlation.ts';

const SIGN = { '-1': 'falls as it grows', '0': 'differs by group', '1': 'rises with it' } as const;
const FAINT = 0.05;
const SWITCH = { '-1': 'lower where true', '0': 'no difference', '1': 'higher where true' } as const;

export function ImportancePanel() {
  const target = targetColumn.value;
  if (!target) return null;
  const rows = metRows.value;
  const pick = <T,>(cells: T[]) => rows.map((row) => cells[row]!);
  const params = table.value.columns
    .filter((column) => column.role === 'param')
    .map((column) => ({ ...column, cells: pick(column.cells) }));
  const found = importances(params, { ...target, cells: pick(target.cells) });
  return (
    <aside class="importance" aria-label="Importance">
      <h2>Rank correlation with {safeText(target.title, 80)}</h2>
      <p class="faint">Over {counted(rows.length, 'session')}. Correlation is not causation.</p>
      {found.length === 0 && <p>Too few sessions differ to say.</p>}
      <ul>
        {found.map(({ param, title, kind, strength, sign, pairs }) => (
          <li key={param} title={`${pairs} sessions`}>
            <span class="importance-name">{safeText(title, 80)}</span>
            <span>
              {sign < 0 ? '−' : ''}
              {strength.toFixed(2)}
            </span>
            <span class={`bar sign${sign}`}>
              <span style={{ width: `${strength * 100}%` }} />
            </span>
            <span class="faint importance-word">
              {strength < FAINT ? 'hardly related' : (kind === 'bool' ? SWITCH : SIGN)[`${sign}`]}
            </span>
          </li>
        ))}
      </ul>
    </aside>
  );
}
