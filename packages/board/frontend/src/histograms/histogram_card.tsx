/** The card of a histogram tag: offset ridges, overlay, heat-map or percentile bands over all steps. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useResponse } from '../api/use_response.ts';
import type { CardProps } from '../cards/card.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { Swatch } from '../controls/swatch.tsx';
import { ToolBar, ToolChoice, ToolToggle } from '../controls/tool_bar.tsx';
import { CanvasView } from '../picture/canvas_view.tsx';
import { paletteNow } from '../picture/palette.ts';
import { runColour } from '../runs/colours.ts';
import { runTitle } from '../state/run_title.ts';
import { stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { seriesVersion } from '../state/series_version.ts';
import { safeText } from '../strings/safe_text.ts';
import { useExposed } from '../testing/test_hook.ts';
import { wallTime } from '../units/dates.ts';
import { prefixedNumber } from '../units/numbers.ts';
import { histogramApart, histogramAxis, histogramLog, histogramMode } from './address_fields.ts';
import { draw } from './histogram_draw.ts';
import { type Bucket, compose, hit, type Layer, type Mode, type StepAxis } from './histogram_scene.ts';
import { fetchTables, type HistogramTable } from './histogram_table.ts';
import { describeHistogram } from './histogram_test_hook.ts';
import { saveMenu } from './save_menu.ts';
import { TextAlternative } from './text_alternative.tsx';

const MOST_ROWS = 200;
const MOST_ROWS_LARGE = 500;
const BINS = 60;
const MOST_RUNS = 12;
const TOOLS_HEIGHT = 32;
const NARROW = 520;
const FOOT_HEIGHT = 20;

const MODES: [Mode, string][] = [
  ['offset', 'Offset'],
  ['overlay', 'Overlay'],
  ['heat', 'Heat-map'],
  ['distribution', 'Distribution'],
];
const AXES: [StepAxis, string][] = [
  ['step', 'Step'],
  ['relative', 'Relative'],
  ['wall', 'Wall time'],
];

export default function HistogramCard({ card, tag, runs, large, width, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { tables, failure } = useTables(
    tag.id,
    shown.map((run) => run.id),
    large ? MOST_ROWS_LARGE : MOST_ROWS,
  );
  const [hovered, setHovered] = useState<Bucket | null>(null);
  const palette = paletteNow();
  const layers = shown.flatMap((run): Layer[] => {
    const table = tables.get(run.id);
    return table
      ? [{ run: run.id, name: safeText(runTitle(run.name), 200), colour: runColour(run), table }]
      : [];
  });
  const view = {
    mode: histogramMode.value,
    axis: histogramAxis.value,
    logCounts: histogramLog.value,
    apart: histogramApart.value,
  };
  const cursor = stepCursor.value;
  const h = Math.max(80, height - TOOLS_HEIGHT - FOOT_HEIGHT);
  // layers and view are new objects each time, so the keys compare their content
  const scene = useMemo(
    () => compose(layers, view, width, h),
    [tables, layers.map((l) => l.run + l.colour).join(), JSON.stringify(view), width, h],
  );
  const paint = useMemo(
    () => (on: CanvasRenderingContext2D) => draw(on, scene, palette, { hovered, cursor }),
    [scene, hovered, cursor, palette.surface, palette.text],
  );
  useExposed('histograms', card.id, () => describeHistogram(card.id, tag.name, scene, hovered));

  const total = layers.reduce((sum, { table }) => sum + table.total, 0);
  const drawn = layers.reduce((sum, { table }) => sum + table.rows, 0);
  const isEmpty = layers.every(({ table }) => table.sums.every((sum) => sum === 0));
  const root = useRef<HTMLDivElement>(null);
  const name = safeText(tag.name, 120);
  const frame = useCardFrame();
  useEffect(() => {
    const canvas = () => root.current!.querySelector('canvas')!;
    frame.setMenu(saveMenu(tag, shown, layers, scene, palette, cursor, canvas));
  }, [scene, cursor, palette.surface]);
  const step = (row: number, bin: number) => setHovered(moved(scene.facets, hovered, row, bin));

  return (
    <div class="histogram-card" ref={root}>
      <ViewTools name={name} severalRuns={shown.length > 1} narrow={width < NARROW} />
      {failure && layers.length === 0 ? (
        <p class="card-note" role="alert">
          {failure}
        </p>
      ) : (
        <CanvasView
          width={width}
          height={h}
          draw={paint}
          label={`Histograms of ${name}: ${drawn} steps of ${layers.length} runs. Arrow keys read buckets.`}
          onMove={(x, y) => setHovered(hit(scene, x, y))}
          onLeave={() => setHovered(null)}
          onPress={(x, y) => chooseStep(scene.facets, hit(scene, x, y))}
          onKey={(event) => {
            const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[
              event.key
            ];
            if (event.key === 'Enter') chooseStep(scene.facets, hovered);
            else if (by) step(by[0]!, by[1]!);
            else return;
            event.preventDefault();
          }}
        />
      )}
      <p class="card-foot" role="status">
        {hovered ? (
          <Reading facets={scene.facets} bucket={hovered} />
        ) : (
          <span class="faint">
            {drawn < total
              ? `${prefixedNumber(drawn)} of ${prefixedNumber(total)} histograms drawn`
              : `${total} ${total === 1 ? 'histogram' : 'histograms'}`}
            {drawn > 0 && isEmpty ? ' without values' : ''}
            {runs.length > shown.length ? ` · ${shown.length} of ${runs.length} runs` : ''}
          </span>
        )}
      </p>
      <TextAlternative name={name} layers={layers} />
    </div>
  );
}

function ViewTools({ name, severalRuns, narrow }: { name: string; severalRuns: boolean; narrow: boolean }) {
  return (
    <ToolBar label={`View of ${name}`}>
      <ToolChoice
        quiet={narrow}
        label="Mode"
        value={histogramMode.value}
        options={MODES}
        onChange={(v) => (histogramMode.value = v)}
      />
      <ToolChoice
        label="Axis of steps"
        value={histogramAxis.value}
        options={AXES}
        onChange={(v) => (histogramAxis.value = v)}
        quiet
      />
      <ToolToggle label="Log counts" on={histogramLog.value} onChange={(v) => (histogramLog.value = v)}>
        log
      </ToolToggle>
      {severalRuns && (
        <ToolToggle
          label="Runs side by side"
          on={histogramApart.value}
          onChange={(v) => (histogramApart.value = v)}
        >
          side by side
        </ToolToggle>
      )}
    </ToolBar>
  );
}

function Reading({ facets, bucket }: { facets: { layers: Layer[] }[]; bucket: Bucket }) {
  const layer = facets[bucket.facet]?.layers[bucket.layer];
  if (!layer || bucket.row >= layer.table.rows) return null;
  const { table } = layer;
  const count = table.counts[bucket.row * table.bins + bucket.bin]!;
  const sum = table.sums[bucket.row]!;
  const shown = Number.isInteger(count) ? String(count) : count.toFixed(2);
  const share = sum > 0 ? ` (${((100 * count) / sum).toPrecision(3)} %)` : '';
  return (
    <>
      <Swatch colour={layer.colour} />
      {layer.name} step <b>{table.steps[bucket.row]}</b> · [{prefixedNumber(table.edges[bucket.bin]!)},{' '}
      {prefixedNumber(table.edges[bucket.bin + 1]!)}): <b class="bucket-count">{shown}</b> of{' '}
      {prefixedNumber(sum)}
      {share} · median {prefixedNumber(table.percentiles[bucket.row * 9 + 4]!)} ·{' '}
      {wallTime(table.walls[bucket.row]!)}
    </>
  );
}

function chooseStep(facets: { layers: Layer[] }[], bucket: Bucket | null): void {
  const layer = bucket && facets[bucket.facet]?.layers[bucket.layer];
  if (layer && bucket) stepCursor.value = layer.table.steps[bucket.row]!;
}

function moved(facets: { layers: Layer[] }[], from: Bucket | null, row: number, bin: number): Bucket | null {
  const first = facets[0]?.layers[0];
  if (!first) return null;
  const at = from ?? { facet: 0, layer: 0, row: first.table.rows - 1, bin: first.table.bins >> 1 };
  const table = facets[at.facet]?.layers[at.layer]?.table;
  if (!from || !table) return at;
  const within = (value: number, n: number) => Math.max(0, Math.min(n - 1, value));
  return { ...at, row: within(at.row + row, table.rows), bin: within(at.bin + bin, table.bins) };
}

/** Fetches the histograms of some runs, again whenever a run has new steps. */
function useTables(tag: number, runs: number[], most: number) {
  const [lo, hi] = [stepFrom.value, stepTo.value];
  const { response: tables, failure } = useResponse(
    runs.length ? (signal) => fetchTables(runs, tag, { max: most, bins: BINS, lo, hi }, signal) : null,
    new Map<number, HistogramTable>(),
    [tag, seriesVersion(tag, runs), lo, hi, most],
  );
  return { tables, failure };
}
