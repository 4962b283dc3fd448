/** A form for a layout: categories, and in each its charts. */
import { useState } from 'preact/hooks';
import { meta } from '../state/catalogue.ts';
import {
  chartFromText,
  chartToText,
  isTame,
  type Layout,
  type LayoutCategory,
  type LayoutChart,
} from './layout.ts';

interface Props {
  layout: Layout;
  onSave: (layout: Layout) => void;
  onLeave: () => void;
}

export function LayoutEditor({ layout, onSave, onLeave }: Props) {
  const [draft, setDraft] = useState<Layout>(layout);
  const put = (at: number, category: LayoutCategory | null) =>
    setDraft({ categories: replaced(draft.categories, at, category) });
  const kept = meta.value?.read_only === false ? 'in the state file' : 'in this browser';
  return (
    <form
      class="layout-editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(draft);
      }}
    >
      {draft.categories.map((category, at) => (
        <fieldset key={String(at)}>
          <div class="layout-row">
            <input
              type="text"
              aria-label="Title of the category"
              placeholder="category"
              value={category.title}
              onInput={(event) => put(at, { ...category, title: event.currentTarget.value })}
            />
            <label>
              <input
                type="checkbox"
                checked={category.closed}
                onChange={(event) => put(at, { ...category, closed: event.currentTarget.checked })}
              />{' '}
              folded away
            </label>
            <span class="grow" />
            <button type="button" class="quiet" onClick={() => put(at, null)}>
              take away
            </button>
          </div>
          {category.charts.map((chart, i) => (
            <ChartForm
              key={String(i)}
              chart={chart}
              onChange={(next) => put(at, { ...category, charts: replaced(category.charts, i, next) })}
            />
          ))}
          <button
            type="button"
            onClick={() =>
              put(at, {
                ...category,
                charts: [...category.charts, { title: '', multiline: { regexes: [] } }],
              })
            }
          >
            Add a chart
          </button>
        </fieldset>
      ))}
      <div class="layout-row">
        <button
          type="button"
          onClick={() =>
            setDraft({ categories: [...draft.categories, { title: '', closed: false, charts: [] }] })
          }
        >
          Add a category
        </button>
        <span class="grow" />
        <span class="faint">kept {kept}</span>
        <button type="button" onClick={onLeave}>
          Leave
        </button>
        <button type="submit" class="primary">
          Save
        </button>
      </div>
    </form>
  );
}

function ChartForm({
  chart,
  onChange,
}: {
  chart: LayoutChart;
  onChange: (chart: LayoutChart | null) => void;
}) {
  const [said, setSaid] = useState(chartToText(chart));
  const margin = chart.margin !== undefined;
  const wild = (chart.multiline?.regexes ?? []).filter((pattern) => !isTame(pattern));
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
          onChange={(event) =>
            onChange(chartFromText(chart.title, event.currentTarget.value === 'margin', said))
          }
        >
          <option value="lines">lines</option>
          <option value="margin">line with bounds</option>
        </select>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => onChange(null)}>
          take away
        </button>
      </div>
      <textarea
        rows={2}
        aria-label={margin ? 'Tags of value, lower, upper; a line each' : 'Patterns of tags; a line each'}
        placeholder={margin ? 'loss, loss_low, loss_high' : 'train/.*'}
        value={said}
        onInput={(event) => {
          setSaid(event.currentTarget.value);
          onChange(chartFromText(chart.title, margin, event.currentTarget.value));
        }}
      />
      {wild.length > 0 && <p class="faint">A pattern is too intricate and will match nothing.</p>}
    </div>
  );
}

/** The list with one item put in place of another, or taken away. */
function replaced<T>(list: T[], at: number, item: T | null): T[] {
  return list.flatMap((old, i) => (i !== at ? [old] : item === null ? [] : [item]));
}
