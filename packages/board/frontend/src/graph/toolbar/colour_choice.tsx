/** The choice of colours; for costs the traced steps, for differences the other graph. */

import { runById } from '../../state/catalogue.ts';
import { runTitle } from '../../state/run_title.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { ColourMode } from '../drawing/paint.ts';
import { colourMode, otherName } from '../session/address.ts';
import { graphNamed, graphs } from '../session/graph_list.ts';
import type { Session } from '../session/session.ts';
import { Popover } from './popover.tsx';

const MODES: [ColourMode, string][] = [
  ['structure', 'Structure'],
  ['device', 'Device'],
  ['op', 'Kind of op'],
  ['time', 'Compute time'],
  ['memory', 'Memory'],
  ['diff', 'Difference'],
];

export function ColourChoice({ session }: { session: Session }) {
  const { value: mode } = colourMode;
  return (
    <>
      <label>
        <span class="g-bar-label">Colour</span>
        <select
          value={mode}
          onChange={(event) => {
            colourMode.value = event.currentTarget.value as ColourMode;
          }}
        >
          {MODES.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {(mode === 'time' || mode === 'memory') && <Steps session={session} />}
    </>
  );
}

function Steps({ session }: { session: Session }) {
  const { costs } = session;
  const { value: traces } = costs.traces;
  if (!traces || traces.length === 0) return null;
  const chosen = new Set(costs.chosenIds());
  const runs = new Map<number, typeof traces>();
  for (const trace of traces) {
    const list = runs.get(trace.run);
    if (list) list.push(trace);
    else runs.set(trace.run, [trace]);
  }
  return (
    <Popover label={`Steps: ${count(chosen.size)}`}>
      <div class="g-op-kinds">
        {[...runs].map(([run, list]) => (
          <fieldset class="g-steps" key={run}>
            <legend>{safeText(runTitle(runById.value.get(run)?.name ?? `run ${run}`), 60)}</legend>
            {list.map((t) => (
              <label class="g-menu-link" key={t.id}>
                <input
                  type="checkbox"
                  checked={chosen.has(t.id)}
                  onChange={(event) => costs.choose(t.id, event.currentTarget.checked)}
                />{' '}
                step {t.step} <span class="g-node-link-more">{safeText(t.tag, 60)}</span>
              </label>
            ))}
          </fieldset>
        ))}
      </div>
    </Popover>
  );
}

export function CompareChoice({ session }: { session: Session }) {
  const others = (graphs.value ?? []).filter((g) => g.key !== session.entry.key);
  const known = graphNamed(others, otherName.value);
  return (
    <label>
      <span class="g-bar-label">Compare with</span>
      <select
        class="graph-choice graph-other"
        value={known?.key ?? ''}
        onChange={(event) => {
          otherName.value = event.currentTarget.value;
          colourMode.value = event.currentTarget.value ? 'diff' : 'structure';
        }}
      >
        <option value="">nothing</option>
        {others.map((g) => (
          <option key={g.key} value={g.key}>
            {safeText(g.title)}
          </option>
        ))}
      </select>
    </label>
  );
}
