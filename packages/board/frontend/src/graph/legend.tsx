/** What the colours mean, beside the picture; for costs also the dearest ops. */

import { safeText } from '../shell/safe_text.ts';
import { count } from './canvas/draw_scene.ts';
import type { Paint } from './canvas/paint.ts';
import { heatFill, hueOfNumber, toneBorder, toneFill } from './canvas/paint.ts';
import { colourMode, type Session } from './session.ts';
import { paintTheme } from './theme_of_paint.ts';
import { duration, megabytes } from './units.ts';

const MOST = 8;

export function Swatch({ fill, border, notch }: { fill: string; border: string; notch?: boolean }) {
  return (
    <span
      class={notch ? 'g-swatch g-notch' : 'g-swatch'}
      ref={(element) => {
        if (!element) return;
        element.style.background = fill;
        element.style.borderColor = border;
      }}
    />
  );
}

export function Legend({ session }: { session: Session; paint: Paint | null }) {
  const theme = paintTheme.value;
  const mode = colourMode.value;
  const { model } = session;
  const scene = session.scene.value?.scene;
  if (!scene) return null;
  if (mode === 'structure') {
    const weight = new Map<number, number>();
    let near = false;
    for (const item of scene.item) {
      const v = item < model.total ? item : model.members[item - model.total]![0]!;
      const family = model.family[v]!;
      if (!model.isGroup(v) || family < 0) continue;
      weight.set(family, (weight.get(family) ?? 0) + model.size[v]!);
      near ||= model.near[v]! > 0;
    }
    const rows = [...weight].sort((a, b) => b[1] - a[1]).slice(0, MOST);
    return (
      <section class="g-legend" aria-label="Colours: structure">
        <h3>Same colour, same structure</h3>
        {rows.length === 0 && <p class="g-quiet-text">Nothing here is repeated.</p>}
        {rows.map(([f]) => {
          const family = model.header.families[f]!;
          const groups = model.familySizes[f]!;
          return (
            <div class="g-legend-row" key={f}>
              <Swatch
                fill={toneFill(theme, family.hue, family.tone)}
                border={toneBorder(theme, family.hue)}
              />
              <span class="g-legend-name">{safeText(family.title)}</span>
              <span class="g-legend-more">×{count(groups)}</span>
            </div>
          );
        })}
        {near && (
          <div class="g-legend-row">
            <Swatch fill="transparent" border="currentColor" notch />
            <span class="g-legend-name">nearly the same</span>
          </div>
        )}
      </section>
    );
  }
  if (mode === 'device' || mode === 'op') {
    const column = mode === 'device' ? model.device : model.op;
    const names = mode === 'device' ? model.header.strings.devices : model.header.strings.ops;
    const counts = new Map<number, number>();
    for (let v = 0; v < model.ops; v++) counts.set(column[v]!, (counts.get(column[v]!) ?? 0) + 1);
    const rows = [...counts].sort((a, b) => b[1] - a[1]).slice(0, mode === 'device' ? 16 : 12);
    return (
      <section class="g-legend" aria-label={`Colours: ${mode}`}>
        <h3>{mode === 'device' ? 'Devices' : 'Kinds of op'}</h3>
        {rows.map(([i, n]) => (
          <div class="g-legend-row" key={i}>
            <Swatch fill={toneFill(theme, hueOfNumber(i))} border={toneBorder(theme, hueOfNumber(i))} />
            <span class="g-legend-name g-from-end" title={safeText(names[i] ?? '')}>
              <bdi>{safeText(names[i] || '(none)')}</bdi>
            </span>
            <span class="g-legend-more">{count(n)}</span>
          </div>
        ))}
        <p class="g-quiet-text">A group's bar shows its shares.</p>
      </section>
    );
  }
  if (mode === 'diff') {
    const diff = session.difference.value;
    return (
      <section class="g-legend" aria-label="Colours: difference">
        <h3>Difference</h3>
        {!diff && <p class="g-quiet-text">Choose a graph to compare with.</p>}
        {diff &&
          (
            [
              ['added', diff.added, 150],
              ['changed', diff.changed, 75],
              ['removed below', diff.removed.length, 25],
              ['several of these below', null, 290],
            ] as const
          ).map(([name, n, hue]) => (
            <div class="g-legend-row" key={name}>
              <Swatch fill={toneFill(theme, hue)} border={toneBorder(theme, hue)} />
              <span class="g-legend-name">{name}</span>
              {n !== null && <span class="g-legend-more">{count(n)}</span>}
            </div>
          ))}
        {diff && diff.removed.length > 0 && (
          <details>
            <summary>{count(diff.removed.length)} removed</summary>
            <ul class="g-plain">
              {diff.removed.slice(0, 200).map((name) => (
                <li key={name}>{safeText(name)}</li>
              ))}
            </ul>
          </details>
        )}
      </section>
    );
  }
  const costs = session.costs.value;
  const cost = costs ? (mode === 'time' ? costs.time : costs.memory) : null;
  const words = mode === 'time' ? duration : megabytes;
  const top: number[] = [];
  if (cost) {
    const ranked = Array.from({ length: model.ops }, (_, v) => v).filter((v) => cost.total[v]! > 0);
    ranked.sort((a, b) => cost.total[b]! - cost.total[a]!);
    top.push(...ranked.slice(0, 10));
  }
  return (
    <section class="g-legend g-costs" aria-label={`Colours: ${mode}`}>
      <h3>{mode === 'time' ? 'Compute time' : 'Memory'}</h3>
      {!cost && <p class="g-quiet-text">No traced step tells of this graph.</p>}
      {cost && (
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
          <ol class="g-node-links g-top">
            {top.map((v) => (
              <li key={v}>
                <button type="button" class="g-node-link" onClick={() => session.goTo(v)}>
                  <span class="g-node-link-name">
                    <bdi>{safeText(model.path(v))}</bdi>
                  </span>
                  <span class="g-node-link-more">{words(cost.total[v]!)}</span>
                </button>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
