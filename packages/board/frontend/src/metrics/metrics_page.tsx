/** Every kind of card on one page, beside the table of runs. */
import '../style/metrics.css';
import { crosshair } from '../charts/crosshair.ts';
import { shownCharts } from '../charts/shown_charts.ts';
import { Tooltip } from '../charts/tooltip.tsx';
import { isLoading } from '../scalars/curves/curve_loader.ts';
import { isPainting } from '../scene/paint_queue.ts';
import { loaded, runs } from '../state/catalogue.ts';
import { expose } from '../testing/test_hook.ts';
import { EmptyBoard, EmptyCards, LoadingBoard, NothingMatches } from './empty_states.tsx';
import { cardCount, sections } from './grid/card_list.ts';
import { Grid } from './grid/grid.tsx';
import { Toolbar } from './toolbar/toolbar.tsx';

export default function MetricsPage() {
  return (
    <div class="metrics">
      <Toolbar />
      {!loaded.value ? (
        <LoadingBoard />
      ) : cardCount.value === 0 ? (
        <EmptyBoard hasRuns={runs.value.length > 0} />
      ) : (
        <>
          <EmptyCards />
          {sections.value.length === 0 ? <NothingMatches /> : <Grid />}
        </>
      )}
      <Tooltip />
    </div>
  );
}

/** Whether the grid is there and no card in it waits for its code or its data. */
function hasAllCards(): boolean {
  if (document.querySelector('.metrics .tile-wait')) return false;
  return document.querySelector('.metrics :is(.grid-item, .notice)') !== null;
}

expose('metrics', () => ({
  sections: sections.value.map((s) => ({ path: s.path, cards: s.cards.map((c) => c.id) })),
  idle: loaded.value && !isLoading() && !isPainting() && hasAllCards(),
  crosshair: crosshair.value,
  charts: [...shownCharts]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((chart) => ({
      id: chart.id,
      // How many curves are on the canvas; -1 while what it shows is out of date.
      painted: chart.view && !isPainting() ? chart.curves.length : -1,
      view: chart.view,
      plot: chart.axes?.plot ?? null,
      xTicks: chart.axes?.x.labels ?? [],
      yTicks: chart.axes?.y.labels ?? [],
      curves: chart.curves.map((c) => ({
        label: c.label,
        tag: c.tag,
        colour: c.colour,
        right: c.right,
        n: c.n,
        drawn: c.drawn,
        superseded: c.superseded,
        get x() {
          return [...c.x];
        },
        get y() {
          return [...c.y];
        },
        get raw() {
          return c.raw && [...c.raw];
        },
        get lo() {
          return c.lo && [...c.lo];
        },
        get hi() {
          return c.hi && [...c.hi];
        },
        get flags() {
          return c.flags && [...c.flags];
        },
      })),
    })),
}));
