/** The card of a tag of histograms: ridges, overlay, heat-map or percentile bands over all steps. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { apiUrl, getJson } from '../api/client.ts';
import type { Run } from '../api/types.ts';
import { useAnswer } from '../api/use_response.ts';
import type { CardProps } from '../cards/card.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { Swatch } from '../controls/swatch.tsx';
import { ToolBar, ToolChoice, ToolToggle } from '../controls/tool_bar.tsx';
import { CanvasView } from '../picture/canvas_view.tsx';
import { download, downloadCanvas, fileName } from '../picture/download.ts';
import { paletteNow } from '../picture/palette.ts';
import { SvgSurface } from '../picture/surface.ts';
import { runColour } from '../runs/colours.ts';
import { stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { seriesVersion } from '../state/series_version.ts';
import { safeText } from '../strings/safe_text.ts';
import { wallTime } from '../units/dates.ts';
import { prefixedNumber } from '../units/numbers.ts';
import { histogramApart, histogramAxis, histogramLog, histogramMode } from './address_fields.ts';
import { draw } from './histogram_draw.ts';
import { bucketsCsv, type RawHistograms, rawBucketsCsv, tableJson } from './histogram_export.ts';
import { type Bucket, compose, hit, type Layer, type Mode, type StepAxis } from './histogram_scene.ts';
import { fetchTables, type HistogramTable } from './histogram_table.ts';
import { exposeScene } from './histogram_test_hook.ts';
import { HistogramMirror } from './text_alternative.tsx';

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
    return table ? [{ run: run.id, name: safeText(run.name, 200), colour: runColour(run), table }] : [];
  });
  const view = {
    mode: histogramMode.value,
    axis: histogramAxis.value,
    logCounts: histogramLog.value,
    apart: histogramApart.value,
  };
  const cursor = stepCursor.value;
  const h = Math.max(80, height - TOOLS_HEIGHT - FOOT_HEIGHT);
  // layers and view are new objects of the same content
  const scene = useMemo(
    () => compose(layers, view, width, h),
    [tables, layers.map((l) => l.run + l.colour).join(), JSON.stringify(view), width, h],
  );
  const paint = useMemo(
    () => (on: CanvasRenderingContext2D) => draw(on, scene, palette, { hovered, cursor }),
    [scene, hovered, cursor, palette.surface, palette.text],
  );
  useEffect(
    () => exposeScene(card.id, tag.name, () => ({ scene, hovered })),
    [card.id, tag.name, scene, hovered],
  );

  const total = layers.reduce((sum, { table }) => sum + table.total, 0);
  const drawn = layers.reduce((sum, { table }) => sum + table.rows, 0);
  const root = useRef<HTMLDivElement>(null);
  const name = safeText(tag.name, 120);
  const frame = useCardFrame();
  useEffect(() => {
    const file = (extension: string) => `${tag.name}.${extension}`;
    frame.setMenu([
      {
        text: 'Save all steps, buckets as logged',
        hint: 'csv',
        run: () => void rawCsv(tag.id, shown).then((csv) => download(file('csv'), csv, 'text/csv')),
      },
      ...shown.map((run) => ({
        text:
          shown.length > 1
            ? `Save all steps of ${safeText(run.name, 60)}`
            : 'Save all steps, buckets as logged',
        hint: 'json',
        href: apiUrl('histograms/export.json', { run: run.id, tag: tag.id }),
        download: fileName(`${tag.name}_${run.name}.json`),
      })),
      {
        text: 'Save what is drawn as CSV',
        run: () => download(`${tag.name}_drawn.csv`, bucketsCsv(layers), 'text/csv'),
      },
      {
        text: 'Save what is drawn as JSON',
        run: () => download(`${tag.name}_drawn.json`, tableJson(tag.name, layers), 'application/json'),
      },
      {
        text: 'Save picture as SVG',
        run: () => {
          const svg = new SvgSurface(width, h);
          draw(svg, scene, palette, { hovered: null, cursor });
          download(file('svg'), String(svg), 'image/svg+xml');
        },
      },
      {
        text: 'Save picture as PNG',
        run: () => downloadCanvas(file('png'), root.current!.querySelector('canvas')!),
      },
    ]);
  }, [scene, cursor, palette.surface]);
  const step = (row: number, bin: number) => setHovered(moved(scene.facets, hovered, row, bin));

  return (
    <div class="histogram-card" ref={root}>
      <ToolBar label={`View of ${name}`}>
        <ToolChoice
          quiet={width < NARROW}
          label="Mode"
          value={view.mode}
          options={MODES}
          onChange={(v) => (histogramMode.value = v)}
        />
        <ToolChoice
          label="Axis of steps"
          value={view.axis}
          options={AXES}
          onChange={(v) => (histogramAxis.value = v)}
          quiet
        />
        <ToolToggle label="Log counts" on={view.logCounts} onChange={(v) => (histogramLog.value = v)}>
          log
        </ToolToggle>
        {shown.length > 1 && (
          <ToolToggle label="Runs side by side" on={view.apart} onChange={(v) => (histogramApart.value = v)}>
            side by side
          </ToolToggle>
        )}
      </ToolBar>
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
            {runs.length > shown.length ? ` · ${shown.length} of ${runs.length} runs` : ''}
          </span>
        )}
      </p>
      <HistogramMirror name={name} layers={layers} />
    </div>
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

/** Every histogram of some runs, with the buckets that it was logged with. */
async function rawCsv(tag: number, runs: Run[]): Promise<string> {
  const found = await Promise.all(
    runs.map((run) => getJson<RawHistograms>('histograms/export.json', { run: run.id, tag })),
  );
  return rawBucketsCsv(found.map(({ rows }, i) => ({ run: runs[i]!.name, rows })));
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

/** The tables of some runs, fetched again when a run has grown. */
function useTables(tag: number, runs: number[], most: number) {
  const [lo, hi] = [stepFrom.value, stepTo.value];
  const { answer: tables, failure } = useAnswer(
    runs.length ? (signal) => fetchTables(runs, tag, { max: most, bins: BINS, lo, hi }, signal) : null,
    new Map<number, HistogramTable>(),
    [tag, seriesVersion(tag, runs), lo, hi, most],
  );
  return { tables, failure };
}
