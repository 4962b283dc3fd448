/** The HParams page: how metrics hang on hyperparameters, over all sessions. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../controls/icons.tsx';
import { Menu } from '../controls/menu.tsx';
import { ToolBar, ToolChoice, ToolToggle } from '../controls/tool_bar.tsx';
import { ToolSheet } from '../controls/tool_sheet.tsx';
import { csvCell, download } from '../picture/download.ts';
import { loaded } from '../state/catalogue.ts';
import { hparams, hparamsFailure, hparamsLoaded } from '../state/hparams.ts';
import { loading } from '../state/server.ts';
import { safeText } from '../strings/safe_text.ts';
import { expose } from '../testing/test_hook.ts';
import { clearFilters, setBrushChooses } from './brushing.ts';
import { ColumnMenu } from './column_menu.tsx';
import {
  aggregate,
  averaged,
  brushChooses,
  filters,
  orderedRows,
  shownColumns,
  table,
  target,
  targetColumn,
  type View,
  view,
} from './hparams_view.ts';
import { ImportancePanel } from './importance_panel.tsx';
import { type Aggregate, hasRepeats } from './model.ts';
import { ParallelView } from './parallel_view.tsx';
import { savePng, saveSvg } from './saved_picture.ts';
import { ScatterView } from './scatter_view.tsx';
import { SessionList } from './session_list.tsx';

const VIEWS: [View, string][] = [
  ['parallel', 'Parallel coordinates'],
  ['scatter', 'Scatter matrix'],
];
const AGGREGATES: [Aggregate, string][] = [
  ['last', 'last value'],
  ['min', 'minimum'],
  ['max', 'maximum'],
];
const PICTURE_HEIGHT = 340;
/** So that titles of axes have room; narrower windows scroll the picture. */
const LEAST_AXIS_WIDTH = 90;

expose('hparams', () => ({
  columns: table.value.columns.map(({ id, title, role, kind }) => ({ id, title, role, kind })),
  shown: shownColumns.value.map((column) => column.id),
  rows: orderedRows.value.map((row) => table.value.names[row]),
  total: table.value.runs.length,
  filters: { ...filters.value },
  target: targetColumn.value?.id ?? null,
  view: view.value,
  aggregate: aggregate.value,
}));

export default function HparamsPage() {
  const room = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const some = table.value.runs.length > 0;
  useEffect(() => {
    const element = room.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, [some]);
  if (!some) return <NoSessions />;
  const metrics = table.value.columns.filter((column) => column.role === 'metric');
  const narrowed = Object.keys(filters.value).length > 0;
  return (
    <div class="hparams-page">
      <ToolBar label="View of the hyperparameters">
        <ToolChoice label="Picture" value={view.value} options={VIEWS} onChange={(v) => (view.value = v)} />
        <ToolSheet label="Tools of the hyperparameters">
          <label class="step-field">
            metric
            <select
              class="tool"
              value={targetColumn.value?.id ?? ''}
              onChange={(event) => (target.value = event.currentTarget.value)}
            >
              {metrics.map((column) => (
                <option key={column.id} value={column.id}>
                  {safeText(column.title, 60)}
                </option>
              ))}
            </select>
          </label>
          <ToolChoice
            quiet
            label="Value of a metric"
            value={aggregate.value}
            options={AGGREGATES}
            onChange={(v) => (aggregate.value = v)}
          />
          <ColumnMenu />
          {hasRepeats(hparams.value) && (
            <ToolToggle
              label="One row per group of sessions, with the means of their metrics"
              on={averaged.value}
              onChange={(on) => (averaged.value = on)}
            >
              average repeats
            </ToolToggle>
          )}
          <ToolToggle
            label="Conditions also select the runs of all other pages"
            on={brushChooses.value}
            onChange={setBrushChooses}
          >
            select runs on all pages
          </ToolToggle>
          {narrowed && (
            <button type="button" class="tool" onClick={clearFilters}>
              clear conditions
            </button>
          )}
          <span class="grow" />
          <Menu
            label="Save the table or the picture"
            items={[
              { text: 'Table', hint: 'csv', run: () => download('hparams.csv', tableCsv(), 'text/csv') },
              { text: 'Picture', hint: 'svg', run: () => saveSvg(`hparams_${view.value}`) },
              { text: 'Picture', hint: 'png', run: () => savePng(`hparams_${view.value}`) },
            ]}
          >
            <Icon name="download" />
            save
          </Menu>
        </ToolSheet>
      </ToolBar>
      {hparamsFailure.value !== null && (
        <p class="card-note" role="alert">
          Changes could not be fetched; the page tries again: {safeText(hparamsFailure.value, 200)}
        </p>
      )}
      <div class="hparams-top">
        <div class="hparams-picture" ref={room}>
          {width > 0 &&
            (view.value === 'parallel' ? (
              <ParallelView
                width={Math.max(width, LEAST_AXIS_WIDTH * shownColumns.value.length)}
                height={PICTURE_HEIGHT}
              />
            ) : (
              <ScatterView width={width} height={PICTURE_HEIGHT} />
            ))}
        </div>
        <ImportancePanel />
      </div>
      <SessionList />
    </div>
  );
}

function tableCsv(): string {
  const { columns, names } = table.value;
  const lines = [['run', ...columns.map((column) => column.title)].map(csvCell).join(',')];
  for (const row of orderedRows.value) {
    const cells = columns
      .map(({ cells: all }) => all[row])
      .map((c) => (typeof c === 'number' ? c : String(c ?? '')));
    lines.push([names[row]!, ...cells].map(csvCell).join(','));
  }
  return `${lines.join('\n')}\n`;
}

function NoSessions() {
  if (hparamsFailure.value !== null) {
    return (
      <p class="empty" role="alert">
        The hyperparameters could not be fetched; the page tries again: {safeText(hparamsFailure.value, 200)}
      </p>
    );
  }
  if (!loaded.value || !hparamsLoaded.value) return <p class="empty">Reading…</p>;
  if (loading.value) {
    return <p class="empty">No hyperparameters so far; the logs are still being read…</p>;
  }
  return (
    <div class="empty empty-page">
      <h2>No hyperparameters in these logs</h2>
      <p>
        A run that records its hyperparameters shows up here: sorted, filtered, and set against the metrics
        that it reached.
      </p>
      <pre>
        {`from torch.utils.tensorboard import SummaryWriter
SummaryWriter("runs/a").add_hparams({"rate": 0.1}, {"accuracy": 0.9})`}
      </pre>
    </div>
  );
}
