/** The table of sessions: sortable, with a condition per column. */

import { TypedField } from '../controls/typed_field.tsx';
import { RunName } from '../runs/run_name.tsx';
import { runById } from '../state/catalogue.ts';
import { hoveredRun, inspectedRun } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { prefixedNumber } from '../units/numbers.ts';
import { setFilter } from './brushing.ts';
import { parseFilter } from './filter.ts';
import { filters, order, orderedRows, shownColumns, table } from './hparams_view.ts';
import type { Cell, Column } from './model.ts';

const MOST_ROWS = 1000;

export function SessionList() {
  const columns = shownColumns.value;
  const rows = orderedRows.value;
  return (
    <div class="session-list">
      <table aria-label="Sessions" aria-rowcount={rows.length}>
        <thead>
          <tr>
            <Head id="run" title="run" part="run" />
            {columns.map((column) => (
              <Head key={column.id} id={column.id} title={column.title} part={column.role} />
            ))}
            <th scope="col">status</th>
          </tr>
          <tr class="conditions">
            <td>
              <span class="faint">
                {rows.length} of {table.value.runs.length}
              </span>
            </td>
            {columns.map((column) => (
              <td key={column.id}>
                <Condition column={column} />
              </td>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row) => {
            const run = runById.value.get(table.value.runs[row]!);
            if (!run) return null;
            const repeats = table.value.members[row]!;
            return (
              <tr
                key={run.id}
                data-run={run.name}
                class={repeats.includes(hoveredRun.value ?? -1) ? 'lit' : ''}
                onPointerEnter={() => {
                  hoveredRun.value = run.id;
                }}
                onPointerLeave={() => {
                  hoveredRun.value = null;
                }}
              >
                <th scope="row">
                  <button
                    type="button"
                    class="run-button"
                    onClick={() => {
                      inspectedRun.value = run.id;
                    }}
                  >
                    <RunName run={run} />
                    {repeats.length > 1 && (
                      <span class="faint" title={`means of ${repeats.length} sessions of one group`}>
                        {' '}
                        × {repeats.length}
                      </span>
                    )}
                  </button>
                </th>
                {columns.map((column) => (
                  <td key={column.id} class={column.kind} title={cellText(column.cells[row]!, true)}>
                    {cellText(column.cells[row]!, false)}
                  </td>
                ))}
                <td class="status">{safeText(table.value.status[row] ?? '', 40)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && (
        <p class="card-note">
          The first {MOST_ROWS} of {rows.length}; narrow them with a condition.
        </p>
      )}
    </div>
  );
}

function cellText(cell: Cell, whole: boolean): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return whole ? String(cell) : prefixedNumber(cell);
  return safeText(String(cell), whole ? 500 : 60);
}

function Head({ id, title, part }: { id: string; title: string; part: string }) {
  const up = order.value === id;
  const down = order.value === `-${id}`;
  return (
    <th scope="col" class={part} aria-sort={up ? 'ascending' : down ? 'descending' : 'none'}>
      <button
        type="button"
        title={safeText(title, 300)}
        onClick={() => {
          order.value = up ? `-${id}` : down ? '' : id;
        }}
      >
        {safeText(title, 60)}
        <span class="sort-sign" aria-hidden="true">
          {up ? '▴' : down ? '▾' : ''}
        </span>
      </button>
    </th>
  );
}

function Condition({ column }: { column: Column }) {
  const condition = filters.value[column.id] ?? '';
  const example = column.kind === 'number' ? '0.1..0.5' : column.kind === 'bool' ? 'true' : 'a|b';
  return (
    <TypedField
      type="search"
      class={condition && parseFilter(condition) ? 'set' : ''}
      aria-label={`Condition on ${safeText(column.title, 80)}`}
      placeholder={example}
      title="0.1..0.5, >3, <=2, word|word or &quot;exact&quot;"
      value={condition}
      onCommit={(text) => setFilter(column.id, text)}
    />
  );
}
