/** A card of scalars: the curves of one tag, or of several, in all visible runs. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { CardProps } from '../cards/card.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import type { Curve } from '../charts/chart_model.ts';
import { fitX } from '../charts/fit.ts';
import { seriesByRun } from '../runs/visible_runs.ts';
import { stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { count, shortNumber } from '../units/numbers.ts';
import { CardSettings } from './card_settings.tsx';
import { setZoom, zoomOf } from './curves/scalar_query.ts';
import { type ScalarChart, useScalarChart } from './curves/use_scalar_chart.ts';
import { RangeTable } from './range_table.tsx';
import { RANGE_TABLE_HEIGHT } from './range_values.ts';
import { scalarMenu } from './scalar_menu.ts';
import { ScalarPlot } from './scalar_plot.tsx';
import { partsOfCard } from './settings/card_parts.ts';
import { tableCards } from './settings/chart_settings.ts';
import { type CurvePart, tagsOfPart } from './settings/curve_part.ts';

export default function ScalarCard({ card, runs, width, height }: CardProps) {
  const frame = useCardFrame();
  const element = useRef<HTMLDivElement>(null);
  const [isSetting, setSetting] = useState(false);
  const allParts = partsOfCard(card);
  const partsKey = JSON.stringify(allParts.map((p) => [p.tag.id, p.tag.name, p.right, p.expression]));
  const parts = useMemo(() => allParts, [partsKey]);
  const chart = useScalarChart({ id: card.id, title: card.tag.name, parts, runs, width });
  const { curves, notPositive } = chart;
  const hasTable = tableCards.value.includes(card.id);

  useEffect(
    () => frame.setInfo(infoOf(chart, card.custom?.count ?? 0, parts.length), supersededHint(chart)),
    [curves, partsKey],
  );

  const version = chart.drawn
    .flatMap((run) => parts.map((part) => seriesByRun.value.get(run.id)?.get(part.tag.id)?.n))
    .join();
  useEffect(() => {
    const text = badgeOf(chart, parts);
    frame.setBadge(
      text === ''
        ? null
        : {
            text,
            title: 'Values that the chart cannot show: go to the first',
            run: () => zoomToFirstUndrawn(chart),
          },
    );
  }, [version, curves, notPositive]);

  const range = [stepFrom.value, stepTo.value];
  useEffect(() => {
    frame.setMenu(scalarMenu(card, chart, parts, () => setSetting(true)));
  }, [card, partsKey, curves, runs, zoomOf(card.id) === null, hasTable, ...range]);

  return (
    <div class="scalar-card" ref={element}>
      <div class="scalar-plot">
        <ScalarPlot chart={chart} width={width} height={height - (hasTable ? RANGE_TABLE_HEIGHT : 0)} />
      </div>
      {hasTable && <RangeTable parts={parts} runs={chart.drawn} />}
      {isSetting && element.current && (
        <CardSettings
          id={card.id}
          title={card.tag.name}
          anchor={element.current}
          close={() => setSetting(false)}
        />
      )}
    </div>
  );
}

/** How much of the data is drawn; `matched` counts the tags of a pattern, `parts` those that are drawn. */
function infoOf({ curves }: ScalarChart, matched: number, parts: number): string {
  const n = curves.reduce((sum, c) => sum + c.n, 0);
  const drawn = curves.reduce((sum, c) => sum + c.drawn, 0);
  if (n === 0) return '';
  const tags = matched > parts ? `first ${parts} of ${matched} tags · ` : '';
  const old = curves.reduce((sum, c) => sum + c.superseded, 0);
  if (old > 0) {
    const cut = drawn < n ? `; ${pointCount(drawn)} drawn` : '';
    return `${tags}${pointCount(n - old)} of ${pointCount(n)}; ${pointCount(old)} superseded by a restart${cut}`;
  }
  const points =
    drawn < n
      ? `${pointCount(drawn)} of ${pointCount(n)} points`
      : n === 1
        ? '1 point'
        : `all ${pointCount(n)} points`;
  return `${tags}${points}`;
}

function supersededHint({ curves }: ScalarChart): string {
  if (!curves.some((c) => c.superseded > 0)) return '';
  return (
    'A run that restarts from a checkpoint writes the steps after it again. The points that it wrote before ' +
    'the restart are drawn dotted; averages, tables and exports leave them out.'
  );
}

const pointCount = (n: number): string => (n < 10_000_000 ? count(n) : `${shortNumber(n / 1e6, 3)}M`);

function badgeOf({ curves, drawn, notPositive }: ScalarChart, parts: CurvePart[]): string {
  let bad = 0;
  let infinite = false;
  for (const run of drawn) {
    for (const tag of parts.flatMap(tagsOfPart)) {
      const one = seriesByRun.peek().get(run.id)?.get(tag);
      bad += one?.nan ?? 0;
      infinite ||= one !== undefined && one.n > one.nan && !Number.isFinite(one.max - one.min);
    }
  }
  const isReduced = curves.some((curve) => curve.drawn < curve.n);
  return [
    bad > 0 ? `NaN ${pointCount(bad)}` : '',
    infinite ? 'Inf' : '',
    // Points that were not drawn are not counted: this is a lower bound.
    notPositive > 0 ? `≤ 0: ${pointCount(notPositive)}${isReduced ? ' or more' : ''}` : '',
  ]
    .filter(Boolean)
    .join(', ');
}

/** Zooms to the first value that is not finite, or that a logarithmic axis cannot show. */
function zoomToFirstUndrawn({ id, curves, settings, scale }: ScalarChart): void {
  const isBad = (curve: Curve, i: number) =>
    (curve.flags !== null && (curve.flags[i]! & 7) !== 0) || (scale === 'log' && curve.y[i]! <= 0);
  let first = Number.POSITIVE_INFINITY;
  for (const curve of curves) {
    const at = curve.x.findIndex((_, i) => isBad(curve, i));
    if (at >= 0) first = Math.min(first, curve.x[at]!);
  }
  const all = fitX(curves, settings.log);
  if (!Number.isFinite(first) || !all) return;
  const room = (all[1] - all[0]) / 20;
  setZoom(id, { x: [Math.max(all[0], first - room), Math.min(all[1], first + room)], y: null });
  if (settings.axis === 'step') stepCursor.value = Math.round(first);
}
