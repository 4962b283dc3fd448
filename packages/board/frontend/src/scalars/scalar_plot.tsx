/** A chart of scalars, or the message in its place. */

import { LineChart } from '../charts/line_chart.tsx';
import { safeText } from '../strings/safe_text.ts';
import { count } from '../units/numbers.ts';
import { ChartLegend, legendHeight } from './chart_legend.tsx';
import { setZoom } from './curves/scalar_query.ts';
import type { ScalarChart } from './curves/use_scalar_chart.ts';
import { setCardStyle, styleOfCard } from './settings/card_style.ts';

interface Props {
  chart: ScalarChart;
  width: number;
  height: number;
}

export function ScalarPlot({ chart, width, height }: Props) {
  const { id, shown, error, view, curves, scale, settings, drawn, runs } = chart;
  if (!shown) {
    if (error === null) return <div class="tile-wait" />;
    return (
      <div class="tile-message" role="alert">
        <p>{safeText(error, 300)}</p>
        <button type="button" onClick={chart.tryAgain}>
          Try again
        </button>
      </div>
    );
  }
  if (scale === 'log' && chart.notPositive > 0 && !curves.some(({ y }) => y.some((v) => v > 0))) {
    return (
      <div class="tile-message">
        <p>No value is above 0: a logarithmic axis cannot show them.</p>
        <button type="button" onClick={() => setCardStyle(id, { ...styleOfCard(id), y: 'linear' })}>
          Linear axis for this chart
        </button>
      </div>
    );
  }
  if (!view || curves.length === 0) {
    return (
      <p class="tile-message">
        {drawn.length === 0
          ? 'None of the chosen runs has this tag.'
          : settings.log
            ? 'No point lies above 0 on the x axis.'
            : 'There are no points here yet.'}
      </p>
    );
  }
  return (
    <>
      <LineChart
        id={id}
        title={chart.title}
        curves={curves}
        view={view}
        axis={settings.axis}
        width={width}
        height={height - legendHeight(curves.length)}
        inFull={chart.inFull}
        onZoom={(x, y) => setZoom(id, { x, y })}
        onReset={() => setZoom(id, null)}
      />
      <ChartLegend curves={curves} />
      {error !== null ? (
        <p class="chart-note wrong" role="alert">
          <span title={safeText(error, 300)}>not up to date: {safeText(error, 120)}</span>
          <button type="button" onClick={chart.tryAgain}>
            Try again
          </button>
        </p>
      ) : (
        runs.length > drawn.length && (
          <p class="chart-note">
            first {count(drawn.length)} of {count(runs.length)} runs
          </p>
        )
      )}
    </>
  );
}
