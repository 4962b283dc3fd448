/** The legend of the colours; for costs also the most expensive ops. */

import { useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import { microsecondsText } from '../../units/durations.ts';
import { count } from '../../units/numbers.ts';
import { paintTheme } from '../canvas/canvas_theme.ts';
import { rangeText } from '../cards/cost_rows.tsx';
import { DIFF_HUES, heatFill, hueOfNumber, toneBorder, toneFill } from '../drawing/paint.ts';
import { ADDED, CHANGED, MOVED, REMOVED_BELOW, SEVERAL } from '../model/difference_kinds.ts';
import { colourMode } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import type { Spread } from '../session/step_costs.ts';

function Swatch({
  fill,
  border,
  shape,
}: {
  fill: string;
  border: string;
  shape?: 'notch' | 'below' | 'beside';
}) {
  return (
    <span
      class={shape ? `g-swatch g-${shape}` : 'g-swatch'}
      ref={(element) => {
        if (!element) return;
        element.style.background = fill;
        element.style.borderColor = border;
      }}
    />
  );
}

export function Legend({ session }: { session: Session }) {
  const mode = colourMode.value;
  if (!session.scene.value) return null;
  if (mode === 'structure') return <StructureLegend session={session} />;
  if (mode === 'device' || mode === 'op') return <KindLegend session={session} mode={mode} />;
  if (mode === 'diff') return <DifferenceLegend session={session} />;
  return <CostLegend session={session} mode={mode} />;
}

/** The first rows, until the reader expands the list. */
function Rows({ rows, first }: { rows: preact.ComponentChildren[]; first: number }) {
  const [all, setAll] = useState(false);
  return (
    <>
      {all ? rows : rows.slice(0, first)}
      {rows.length > first && (
        <button type="button" class="quiet" onClick={() => setAll(!all)}>
          {all ? 'fewer' : `and ${count(rows.length - first)} more`}
        </button>
      )}
    </>
  );
}

function StructureLegend({ session }: { session: Session }) {
  const theme = paintTheme.value;
  const { model } = session;
  const { scene } = session.scene.value!;
  const weight = new Map<number, number>();
  let near = false;
  let [chain, beside] = [false, false];
  for (const item of scene.item) {
    const series = item < model.total ? null : model.header.series[item - model.total]!;
    if (series?.chain) chain = true;
    else if (series) beside = true;
    near ||= series ? series.varied : model.isGroup(item) && model.near[item]! > 0;
    for (const v of series ? model.members[item - model.total]! : [item]) {
      const family = model.family[v]!;
      if (model.isGroup(v) && family >= 0) weight.set(family, (weight.get(family) ?? 0) + model.size[v]!);
    }
  }
  const rows = [...weight].sort((a, b) => b[1] - a[1]);
  return (
    <section class="g-legend" aria-label="Colours: structure">
      <h3>Same colour, same structure</h3>
      {rows.length === 0 && <p class="g-quiet-text">Nothing here is repeated.</p>}
      <Rows
        first={8}
        rows={rows.map(([f]) => {
          const family = model.header.families[f]!;
          return (
            <div class="g-legend-row" key={f}>
              <Swatch
                fill={toneFill(theme, family.hue, family.tone)}
                border={toneBorder(theme, family.hue)}
              />
              <span class="g-legend-name">{safeText(family.title)}</span>
              <span class="g-legend-more">×{count(model.familySizes[f]!)}</span>
            </div>
          );
        })}
      />
      {near && (
        <div class="g-legend-row">
          <Swatch fill="var(--line-strong)" border="currentColor" shape="notch" />
          <span class="g-legend-name">nearly the same</span>
        </div>
      )}
      {chain && (
        <div class="g-legend-row">
          <Swatch fill="transparent" border="currentColor" shape="below" />
          <span class="g-legend-name">repeated, in a chain</span>
        </div>
      )}
      {beside && (
        <div class="g-legend-row">
          <Swatch fill="transparent" border="currentColor" shape="beside" />
          <span class="g-legend-name">repeated, side by side</span>
        </div>
      )}
    </section>
  );
}

function KindLegend({ session, mode }: { session: Session; mode: 'device' | 'op' }) {
  const theme = paintTheme.value;
  const { model } = session;
  const column = mode === 'device' ? model.device : model.op;
  const names = mode === 'device' ? model.header.strings.devices : model.header.strings.ops;
  const counts = new Map<number, number>();
  for (let v = 0; v < model.ops; v++) counts.set(column[v]!, (counts.get(column[v]!) ?? 0) + 1);
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  return (
    <section class="g-legend" aria-label={`Colours: ${mode}`}>
      <h3>{mode === 'device' ? 'Devices' : 'Kinds of op'}</h3>
      <Rows
        first={mode === 'device' ? 16 : 12}
        rows={rows.map(([i, n]) => (
          <div class="g-legend-row" key={i}>
            <Swatch fill={toneFill(theme, hueOfNumber(i))} border={toneBorder(theme, hueOfNumber(i))} />
            <span class="g-legend-name g-from-end" title={safeText(names[i] ?? '')}>
              <bdi>{safeText(names[i] || '(none)')}</bdi>
            </span>
            <span class="g-legend-more">{count(n)}</span>
          </div>
        ))}
      />
      <p class="g-quiet-text">A group's bar shows its shares.</p>
    </section>
  );
}

function DifferenceLegend({ session }: { session: Session }) {
  const theme = paintTheme.value;
  const { value: shown } = session.comparison.shown;
  const { value: message } = session.comparison.message;
  const counts = shown?.reply.counts;
  return (
    <section class="g-legend" aria-label="Colours: difference">
      <h3>Difference</h3>
      {!shown && <p class="g-quiet-text">{message}</p>}
      {counts &&
        (
          [
            ['added', counts.added, ADDED],
            ['changed', counts.changed, CHANGED],
            ['moved', counts.moved, MOVED],
            ['removed from here', counts.removed, REMOVED_BELOW],
            ['several of these below', null, SEVERAL],
          ] as const
        ).map(([name, n, kind]) => (
          <div class="g-legend-row" key={name}>
            <Swatch fill={toneFill(theme, DIFF_HUES[kind]!)} border={toneBorder(theme, DIFF_HUES[kind]!)} />
            <span class="g-legend-name">{name}</span>
            {n !== null && <span class="g-legend-more">{count(n)}</span>}
          </div>
        ))}
    </section>
  );
}

const TOP = 10;

function CostLegend({ session, mode }: { session: Session; mode: 'time' | 'memory' }) {
  const { value: shown } = session.costs.shown;
  const { value: message } = session.costs.message;
  return (
    <section class="g-legend g-costs" aria-label={`Colours: ${mode}`}>
      <h3>{mode === 'time' ? 'Compute time' : 'Memory'}</h3>
      {message && (
        <p class="g-quiet-text" role="status">
          {safeText(message)}
        </p>
      )}
      {shown && <Dearest session={session} cost={mode === 'time' ? shown.time : shown.memory} mode={mode} />}
    </section>
  );
}

function Dearest({ session, cost, mode }: { session: Session; cost: Spread; mode: 'time' | 'memory' }) {
  const theme = paintTheme.value;
  const { model } = session;
  const shown = session.costs.shown.value!;
  const words = mode === 'time' ? microsecondsText : memorySize;
  const ranked: number[] = [];
  for (let v = 0; v < model.ops; v++) if (cost.total[v]! > 0) ranked.push(v);
  ranked.sort((a, b) => cost.total[b]! - cost.total[a]!);
  return (
    <>
      <div class="g-ramp">
        {Array.from({ length: 24 }, (_, i) => (
          <span
            key={i}
            ref={(element) => {
              if (element) element.style.background = heatFill(theme, (i / 23) ** 2);
            }}
          />
        ))}
      </div>
      <div class="g-ramp-ends">
        <span>0</span>
        <span>{words(cost.most)}</span>
      </div>
      <p class="g-quiet-text">
        {shown.read === 1 ? 'One step.' : `Medians of ${count(shown.read)} steps.`}
        {shown.read < shown.requested && ` ${count(shown.requested - shown.read)} more were left out.`}
      </p>
      <ol class="g-node-links g-top">
        {ranked.slice(0, TOP).map((v) => (
          <li key={v}>
            <button
              type="button"
              class="g-node-link"
              title={rangeText(shown, cost, v, words)}
              onClick={() => session.goTo(v)}
            >
              <span class="g-node-link-name">
                <bdi>{safeText(model.path(v))}</bdi>
              </span>
              <span class="g-node-link-more">
                {words(cost.total[v]!)}
                {words(cost.min[v]!) !== words(cost.max[v]!) && (
                  <span class="g-range">
                    {words(cost.min[v]!)} – {words(cost.max[v]!)}
                  </span>
                )}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {ranked.length > TOP && (
        <p class="g-quiet-text">and {count(ranked.length - TOP)} more that cost less</p>
      )}
    </>
  );
}
