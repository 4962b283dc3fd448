/** The panel at the right: details of a run, a tag, or what other pages put there. */

import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Run, Tag } from '../api/types.ts';
import { copyText } from '../browser/clipboard.ts';
import { DashSwatch } from '../controls/dash_swatch.tsx';
import { Icon } from '../controls/icons.tsx';
import { styleOf } from '../runs/colours.ts';
import { archive, archivedRuns, seriesByRun, showOnly, visibleRuns } from '../runs/visible_runs.ts';
import { runById, seriesByTag, seriousProblems, tagById } from '../state/catalogue.ts';
import { hparamsByRun } from '../state/hparams.ts';
import { runTitle } from '../state/run_title.ts';
import { inspectedRun, inspectedTag } from '../state/selection.ts';
import { naturally } from '../strings/natural_order.ts';
import { safeText } from '../strings/safe_text.ts';
import { localDate } from '../units/dates.ts';
import { duration } from '../units/durations.ts';
import { count, shortNumber } from '../units/numbers.ts';

/** A part that another folder adds; it draws nothing if it has no content. */
export interface InspectorPart {
  id: string;
  Run?: ComponentType<{ run: Run }>;
  Tag?: ComponentType<{ tag: Tag }>;
}

const parts = signal<InspectorPart[]>([]);

export function addInspectorPart(part: InspectorPart): void {
  parts.value = [...parts.value.filter((one) => one.id !== part.id), part];
}

export function Inspector() {
  const run = inspectedRun.value === null ? undefined : runById.value.get(inspectedRun.value);
  const tag = inspectedTag.value === null ? undefined : tagById.value.get(inspectedTag.value);
  if (!run && !tag) return null;
  const close = () => {
    inspectedRun.value = null;
    inspectedTag.value = null;
  };
  return (
    <aside
      class="inspector"
      aria-label="Details"
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <header>
        <h2>{tag ? 'Tag' : 'Run'}</h2>
        <span class="grow" />
        <button type="button" class="icon" aria-label="Close the details" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <div class="inspector-body">
        {tag && <TagDetails tag={tag} />}
        {run && <RunDetails run={run} />}
      </div>
    </aside>
  );
}

const moment = (wall: number): string => (wall > 0 ? localDate(wall) : 'unknown');

function Facts({ rows }: { rows: [string, string][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{safeText(name)}</dt>
          <dd>{safeText(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function RunDetails({ run }: { run: Run }) {
  const style = styleOf(run.id);
  const parameters = Object.entries(hparamsByRun.value.get(run.id) ?? {});
  const series = [...(seriesByRun.value.get(run.id)?.values() ?? [])]
    .map(({ tag, last, lastWall, firstWall }) => ({
      tag,
      last,
      lastWall,
      firstWall,
      found: tagById.value.get(tag),
    }))
    .filter((one) => one.found?.kind === 'scalar')
    .sort((a, b) => naturally(a.found!.name, b.found!.name));
  const last = series.reduce((most, one) => Math.max(most, one.lastWall || most), 0) || run.last_wall;
  const first = series.reduce((least, one) => Math.min(least, one.firstWall || least), run.start);
  const wrong = seriousProblems.value.filter((p) => p.run === run.id).length;
  const isArchived = archivedRuns.value.includes(run.name);
  return (
    <>
      <h3 class="inspected">
        <DashSwatch colour={style.colour} dash={style.dash} /> {safeText(runTitle(run.name))}
      </h3>
      <p class="actions">
        <button type="button" onClick={() => showOnly([run.name])}>
          Only this
        </button>
        <button type="button" onClick={() => archive([run.name], !isArchived)}>
          {isArchived ? 'Restore' : 'Archive'}
        </button>
        <button type="button" onClick={() => void copyText(run.name)}>
          Copy the name
        </button>
      </p>
      <Facts
        rows={[
          ['first event', moment(first)],
          ['last event', moment(last)],
          ['duration', duration(Math.max(0, Math.round(last - first)))],
          ['restarts', String(Math.max(0, run.segments - 1))],
          ['state', run.live ? 'being written' : 'finished'],
          ...(wrong > 0 ? ([['problems', String(wrong)]] as [string, string][]) : []),
        ]}
      />
      {parts.value.map(({ id, Run: Part }) => Part && <Part key={id} run={run} />)}
      {parameters.length > 0 && <h4>Hyperparameters</h4>}
      <Facts
        rows={parameters.map(([name, value]) => [
          name,
          typeof value === 'number' ? shortNumber(value) : String(value),
        ])}
      />
      {series.length > 0 && <h4>Last values</h4>}
      <table class="values">
        <tbody>
          {series.slice(0, 200).map((one) => (
            <tr key={one.tag}>
              <td>
                <button type="button" class="as-text" onClick={() => (inspectedTag.value = one.tag)}>
                  {safeText(one.found!.name)}
                </button>
              </td>
              <td class="numeric">{shortNumber(one.last)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function TagDetails({ tag }: { tag: Tag }) {
  const all = seriesByTag.value.get(tag.id) ?? [];
  const points = all.reduce((sum, one) => sum + one.n, 0);
  const shown = new Set(visibleRuns.value.map((run) => run.id));
  const rows = all.filter((one) => shown.has(one.run)).slice(0, 200);
  return (
    <>
      <h3 class="inspected">{safeText(tag.name)}</h3>
      {tag.description && <p class="description">{safeText(tag.description)}</p>}
      <Facts
        rows={[
          ['kind', tag.kind.replace('_', ' ')],
          ...(tag.plugin ? ([['plugin', tag.plugin]] as [string, string][]) : []),
          ['runs', String(all.length)],
          [tag.kind === 'scalar' ? 'points' : 'events', count(points)],
        ]}
      />
      {parts.value.map(({ id, Tag: Part }) => Part && <Part key={id} tag={tag} />)}
      {tag.kind === 'scalar' && (
        <table class="values">
          <thead>
            <tr>
              <th>run</th>
              <th class="numeric">last</th>
              <th class="numeric">min</th>
              <th class="numeric">max</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.run}>
                <td>
                  <button type="button" class="as-text" onClick={() => (inspectedRun.value = one.run)}>
                    {safeText(runTitle(runById.value.get(one.run)?.name ?? ''))}
                  </button>
                </td>
                <td class="numeric">{shortNumber(one.last)}</td>
                <td class="numeric">{shortNumber(one.min)}</td>
                <td class="numeric">{shortNumber(one.max)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
