/** Which run and which of its traced steps the page shows, and which steps are compared with it. */
import { Menu, type MenuItem } from '../../controls/menu.tsx';
import { runById } from '../../state/catalogue.ts';
import { runTitle } from '../../state/run_title.ts';
import { safeText } from '../../strings/safe_text.ts';
import { sidebarTab } from '../address/address_fields.ts';
import type { TraceRow } from '../data/trace_api.ts';
import {
  chooseNeighbour,
  chooseTrace,
  chosen,
  chosenRun,
  compared,
  keyOfTrace,
  MOST_COMPARED,
  ofTheRun,
  toggleCompared,
  tracedRuns,
} from '../state/trace_state.ts';

function stepName(row: TraceRow): string {
  return safeText(keyOfTrace.value.get(row.id) ?? String(row.step), 60);
}

/** Chooses a run; nothing where only one has traces. */
export function RunChoice() {
  const runs = tracedRuns.value;
  if (runs.size <= 1) return null;
  return (
    <label class="trace-pick">
      <span class="faint">Run</span>
      <select
        value={String(chosenRun.value ?? '')}
        onChange={(event) => {
          const rows = runs.get(Number(event.currentTarget.value));
          if (rows?.length) chooseTrace(rows.at(-1)!);
        }}
      >
        {[...runs.keys()].map((id) => (
          <option key={id} value={String(id)}>
            {safeText(runTitle(runById.value.get(id)?.name ?? `run ${id}`), 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

export function StepChoice() {
  const row = chosen.value;
  const all = ofTheRun.value;
  const at = all.findIndex((one) => one.id === row?.id);
  return (
    <span class="trace-pick">
      <span class="faint" id="trace-step">
        {row?.step === null ? 'Trace' : 'Step'}
      </span>
      <button
        type="button"
        class="trace-step"
        aria-label="Previous step"
        title="Previous step ( [ )"
        disabled={at <= 0}
        onClick={() => chooseNeighbour(-1)}
      >
        ‹
      </button>
      <select
        aria-labelledby="trace-step"
        value={String(row?.id ?? '')}
        onChange={(event) => {
          const next = all.find((one) => String(one.id) === event.currentTarget.value);
          if (next) chooseTrace(next);
        }}
      >
        {all.map((one) => (
          <option key={one.id} value={String(one.id)}>
            {stepName(one)}
          </option>
        ))}
      </select>
      <button
        type="button"
        class="trace-step"
        aria-label="Next step"
        title="Next step ( ] )"
        disabled={at < 0 || at >= all.length - 1}
        onClick={() => chooseNeighbour(1)}
      >
        ›
      </button>
    </span>
  );
}

/** Adds steps below the chosen one, up to MOST_COMPARED, and removes them. */
export function CompareMenu() {
  const shown = new Set(compared.value.map((one) => one.id));
  const full = shown.size >= MOST_COMPARED;
  const others = ofTheRun.value.filter((one) => one.id !== chosen.value?.id);
  const items: MenuItem[] = others
    .filter((one) => shown.has(one.id) || !full)
    .map((one) => ({
      text: one.step === null ? stepName(one) : `step ${stepName(one)}`,
      checked: shown.has(one.id),
      run: () => {
        toggleCompared(one);
        sidebarTab.value = 'compare';
      },
    }));
  const left = others.length - items.length;
  return (
    <>
      {items.length > 0 && (
        <Menu label="Compare with other steps" items={items}>
          Compare{shown.size ? ` (${shown.size})` : ''}
        </Menu>
      )}
      {full && left > 0 && (
        <span class="faint trace-limit">
          {MOST_COMPARED} at most: remove one to add one of {left} more
        </span>
      )}
    </>
  );
}
