/** A form for a layout: categories, and in each its charts. */
import { useRef, useState } from 'preact/hooks';
import { meta } from '../state/catalogue.ts';
import { safeText } from '../strings/safe_text.ts';
import { chartFromText, chartToText, type Layout, patternError } from './layout.ts';

interface Props {
  layout: Layout;
  onSave: (layout: Layout) => void;
  onLeave: () => void;
}

/** What the form holds of a chart: the text as it was typed; `key` stays with it wherever it moves. */
interface ChartDraft {
  key: number;
  title: string;
  margin: boolean;
  text: string;
}

interface CategoryDraft {
  key: number;
  title: string;
  closed: boolean;
  charts: ChartDraft[];
}

export function LayoutEditor({ layout, onSave, onLeave }: Props) {
  const lastKey = useRef(0);
  const newKey = () => ++lastKey.current;
  const newChart = (): ChartDraft => ({ key: newKey(), title: '', margin: false, text: '' });
  const newCategory = (): CategoryDraft => ({
    key: newKey(),
    title: '',
    closed: false,
    charts: [newChart()],
  });
  const [draft, setDraft] = useState<CategoryDraft[]>(() => {
    const read = layout.categories.map((category) => ({
      key: newKey(),
      title: category.title,
      closed: category.closed,
      charts: category.charts.map((chart) => ({
        key: newKey(),
        title: chart.title,
        margin: chart.margin !== undefined,
        text: chartToText(chart),
      })),
    }));
    return read.length > 0 ? read : [newCategory()];
  });
  const put = (key: number, category: CategoryDraft | null) => setDraft(replaced(draft, key, category));
  const place = meta.value?.read_only === false ? 'in the state file' : 'in this browser';
  return (
    <form
      class="layout-editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSave({
          categories: draft.map(({ title, closed, charts }) => ({
            title,
            closed,
            charts: charts.map(chartOf),
          })),
        });
      }}
    >
      {draft.map((category) => (
        <fieldset key={category.key}>
          <div class="layout-row">
            <input
              type="text"
              aria-label="Title of the category"
              placeholder="category"
              value={category.title}
              onInput={(event) => put(category.key, { ...category, title: event.currentTarget.value })}
            />
            <label>
              <input
                type="checkbox"
                checked={category.closed}
                onChange={(event) => put(category.key, { ...category, closed: event.currentTarget.checked })}
              />{' '}
              collapsed
            </label>
            <span class="grow" />
            <button type="button" class="quiet" onClick={() => put(category.key, null)}>
              remove
            </button>
          </div>
          {category.charts.map((chart) => (
            <ChartForm
              key={chart.key}
              chart={chart}
              onChange={(next) =>
                put(category.key, { ...category, charts: replaced(category.charts, chart.key, next) })
              }
            />
          ))}
          <button
            type="button"
            onClick={() => put(category.key, { ...category, charts: [...category.charts, newChart()] })}
          >
            Add a chart
          </button>
        </fieldset>
      ))}
      <div class="layout-row">
        <button type="button" onClick={() => setDraft([...draft, newCategory()])}>
          Add a category
        </button>
        <span class="grow" />
        <span class="faint">saved {place}</span>
        <button type="button" onClick={onLeave}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Save
        </button>
      </div>
    </form>
  );
}

const chartOf = ({ title, margin, text }: ChartDraft) => chartFromText(title, margin, text);

function ChartForm({ chart, onChange }: { chart: ChartDraft; onChange: (chart: ChartDraft | null) => void }) {
  const { margin } = chart;
  const wrong = patternError(chartOf(chart));
  return (
    <div class="layout-chart">
      <div class="layout-row">
        <input
          type="text"
          aria-label="Title of the chart"
          placeholder="title"
          value={chart.title}
          onInput={(event) => onChange({ ...chart, title: event.currentTarget.value })}
        />
        <select
          aria-label="Kind of the chart"
          value={margin ? 'margin' : 'lines'}
          onChange={(event) => onChange({ ...chart, margin: event.currentTarget.value === 'margin' })}
        >
          <option value="lines">lines</option>
          <option value="margin">line with bounds</option>
        </select>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => onChange(null)}>
          remove
        </button>
      </div>
      <textarea
        rows={2}
        aria-label={margin ? 'Tags of value, lower, upper; a line each' : 'Patterns of tags; a line each'}
        placeholder={margin ? 'loss, loss_low, loss_high' : 'train/.*'}
        value={chart.text}
        onInput={(event) => onChange({ ...chart, text: event.currentTarget.value })}
      />
      {wrong !== null && <p class="query-error">{safeText(wrong, 300)}</p>}
    </div>
  );
}

/** The list with one item put in place of another, or taken away. */
function replaced<T extends { key: number }>(list: T[], key: number, item: T | null): T[] {
  return list.flatMap((old) => (old.key !== key ? [old] : item === null ? [] : [item]));
}
