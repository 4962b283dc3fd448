/** What holds for all charts of the page. */

import { useRef } from 'preact/hooks';
import type { Kind } from '../../api/types.ts';
import { Icon } from '../../controls/icons.tsx';
import { groupBy } from '../../runs/grouping.ts';
import {
  ignoreOutliers,
  smoothing,
  smoothKind,
  windowWidth,
  xLog,
  xMode,
  xTag,
  yScale,
  zooms,
} from '../../scalars/settings/chart_settings.ts';
import { scalarTags } from '../../scalars/settings/custom_charts.ts';
import { safeText } from '../../strings/safe_text.ts';
import { cardCount, filterError, matchedCount, shownKinds } from '../grid/card_list.ts';
import { kindFilter, tagFilter } from '../grid/grid_address.ts';
import { GroupBy, GroupLegend } from './group_controls.tsx';
import { NewChart } from './new_chart.tsx';
import { PageMenu } from './page_menu.tsx';
import { ViewsMenu } from './saved_views.tsx';

export function Toolbar() {
  return (
    <>
      <Controls />
      {groupBy.value !== '' && <GroupLegend />}
    </>
  );
}

function Controls() {
  return (
    <div class="toolbar" role="toolbar" aria-label="All charts">
      <TagFilter />
      <KindFilter />
      <XAxis />
      <label class="field">
        <span>y</span>
        <select
          aria-label="Scale of the y axis"
          value={yScale.value}
          onChange={(event) => {
            yScale.value = event.currentTarget.value as typeof yScale.value;
          }}
        >
          <option>linear</option>
          <option>log</option>
          <option>symlog</option>
        </select>
      </label>
      <Check
        label="no outliers"
        title="Fit y to the inner nine tenths of the values; what is beyond is marked"
        on={ignoreOutliers.value}
        set={(on) => {
          ignoreOutliers.value = on;
        }}
      />
      <Smooth />
      <GroupBy />
      <span class="toolbar-end">
        <NewChart />
        <ViewsMenu />
        <PageMenu />
      </span>
    </div>
  );
}

function TagFilter() {
  const field = useRef<HTMLInputElement>(null);
  const wrong = filterError.value;
  return (
    <div
      class={`search${wrong ? ' wrong' : ''}`}
      title={safeText(wrong ?? 'Letters in order, or a regular expression', 300)}
    >
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        id="tag-filter"
        aria-label="Filter tags"
        aria-invalid={wrong !== null}
        placeholder="Filter tags"
        spellcheck={false}
        value={tagFilter.value}
        onInput={(event) => {
          tagFilter.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') tagFilter.value = '';
        }}
      />
      <span class="search-count">
        {tagFilter.value || kindFilter.value
          ? `${matchedCount.value} of ${cardCount.value}`
          : cardCount.value || ''}
      </span>
    </div>
  );
}

const KIND_NAMES: Partial<Record<Kind, string>> = {
  scalar: 'charts',
  histogram: 'histograms',
  image: 'images',
  audio: 'audio',
  text: 'text',
  pr_curve: 'PR curves',
  custom_scalars: 'layouts',
  mesh: 'meshes',
  tensor: 'tensors',
};

/** Cards of one kind only, where there are several. */
function KindFilter() {
  const chosen = kindFilter.value;
  if (shownKinds.value.length < 2 && chosen === '') return null;
  return (
    <select
      aria-label="Kind of cards"
      value={chosen}
      onChange={(event) => {
        kindFilter.value = event.currentTarget.value;
      }}
    >
      <option value="">all kinds</option>
      {shownKinds.value.map((kind) => (
        <option key={kind} value={kind}>
          {KIND_NAMES[kind] ?? kind}
        </option>
      ))}
    </select>
  );
}

function XAxis() {
  return (
    <span class="field">
      <label>
        <span>x</span>
        <select
          aria-label="x axis"
          value={xMode.value}
          onChange={(event) => {
            xMode.value = event.currentTarget.value as typeof xMode.value;
            // Where a chart was zoomed to is nowhere on another axis.
            zooms.value = [];
            if (xMode.value === 'tag' && !xTag.value) xTag.value = scalarTags.value[0]?.name ?? '';
          }}
        >
          <option value="step">step</option>
          <option value="relative">relative</option>
          <option value="wall">wall time</option>
          <option value="tag">a tag…</option>
        </select>
      </label>
      {xMode.value === 'tag' && (
        <select
          class="narrow"
          aria-label="Tag on the x axis"
          value={xTag.value}
          onChange={(event) => {
            xTag.value = event.currentTarget.value;
          }}
        >
          {scalarTags.value.map((tag) => (
            <option key={tag.id} value={tag.name}>
              {safeText(tag.name)}
            </option>
          ))}
        </select>
      )}
      <Check
        label="log"
        title="Logarithmic x axis"
        on={xLog.value}
        off={xMode.value === 'wall'}
        set={(on) => {
          xLog.value = on;
        }}
      />
    </span>
  );
}

function Smooth() {
  const weight = smoothing.value;
  // The slider is finer near 1, where it matters.
  const position = weight <= 0 ? 0 : 1 - (1 - weight) ** (1 / 2.5);
  return (
    <span class="field">
      <span>smooth</span>
      <select
        aria-label="Kind of smoothing"
        value={smoothKind.value}
        onChange={(event) => {
          smoothKind.value = event.currentTarget.value as typeof smoothKind.value;
        }}
      >
        <option value="ema">EMA</option>
        <option value="mean">mean</option>
        <option value="median">median</option>
      </select>
      <input
        type="range"
        min="0"
        max="1000"
        step="1"
        aria-label="Smoothing"
        value={Math.round(position * 1000)}
        onInput={(event) => {
          const p = Number(event.currentTarget.value) / 1000;
          smoothing.value = p <= 0 ? 0 : Math.min(0.9999, Math.round((1 - (1 - p) ** 2.5) * 1e4) / 1e4);
        }}
        onDblClick={() => {
          smoothing.value = 0;
        }}
      />
      <output class="smooth-value">
        {weight <= 0
          ? 'off'
          : smoothKind.value === 'ema'
            ? weight.toFixed(weight > 0.99 ? 4 : 2)
            : windowWidth(weight)}
      </output>
    </span>
  );
}

function Check(props: {
  label: string;
  title: string;
  on: boolean;
  off?: boolean;
  set: (on: boolean) => void;
}) {
  return (
    <label class={`check${props.off ? ' off' : ''}`} title={props.title}>
      <input
        type="checkbox"
        checked={props.on && !props.off}
        disabled={props.off ?? false}
        onChange={(event) => props.set(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}
