/** What holds for all charts of the page. */
import { computed } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import { apiUrl } from '../api/client.ts';
import { DashSwatch } from '../charts/tooltip.tsx';
import { assignSlots } from '../runs/colour_slots.ts';
import { visibleRuns } from '../runs/visible_runs.ts';
import { Icon } from '../shell/icons.tsx';
import { Layer, Menu } from '../shell/menu.tsx';
import { safeText } from '../shell/safe_text.ts';
import { tags } from '../state/catalogue.ts';
import { hparams } from '../state/hparams.ts';
import { colour, themeVersion } from '../style/theme.ts';
import { cardCount, filterError, sections, shownCount } from './card_list.ts';
import { MOST_TAGS, tagsOfPattern, variablesOf } from './chart_formula.ts';
import { ViewsMenu } from './saved_views.tsx';
import { groupsOfRuns } from './scalar_query.ts';
import {
  cardWidth,
  groupBand,
  groupBy,
  groupCenter,
  ignoreOutliers,
  madeCharts,
  shutFolders,
  smoothing,
  smoothKind,
  tagFilter,
  windowWidth,
  xLog,
  xMode,
  xTag,
  yScale,
} from './view.ts';

const scalarTags = computed(() => tags.value.filter((tag) => tag.kind === 'scalar'));

export function Toolbar() {
  return (
    <>
      <Controls />
      {groupBy.value !== '' && <GroupLegend />}
    </>
  );
}

const MOST_NAMED = 24;

/** Which colour is which group. */
function GroupLegend() {
  void themeVersion.value;
  const groups = groupsOfRuns(visibleRuns.value) ?? [];
  const slots = assignSlots(groups.map((group) => group.title));
  return (
    <ul class="group-legend" aria-label="Groups">
      {groups.slice(0, MOST_NAMED).map((group) => (
        <li key={group.title}>
          <DashSwatch colour={colour(`run-${slots.get(group.title)!.colour}`)} dash={[]} />
          {safeText(group.title, 60)} <span class="faint">{group.runs.length}</span>
        </li>
      ))}
      {groups.length > MOST_NAMED && <li class="faint">and {groups.length - MOST_NAMED} more</li>}
    </ul>
  );
}

function Controls() {
  return (
    <div class="toolbar" role="toolbar" aria-label="All charts">
      <TagFilter />
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
      <span class="grow" />
      <NewChart />
      <ViewsMenu />
      <PageMenu />
    </div>
  );
}

function TagFilter() {
  const field = useRef<HTMLInputElement>(null);
  const wrong = filterError.value;
  return (
    <div
      class={`search${wrong ? ' wrong' : ''}`}
      title={wrong ?? 'Letters in order, or a regular expression'}
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
        {tagFilter.value ? `${shownCount.value} of ${cardCount.value}` : cardCount.value || ''}
      </span>
    </div>
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

function GroupBy() {
  const by = groupBy.value;
  const kind = by === '' || by === 'folder' || by === 'all' ? by : by.startsWith('hp:') ? by : 're';
  return (
    <span class="field">
      <label>
        <span>group</span>
        <select
          aria-label="Group runs"
          class="narrow"
          value={kind}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            groupBy.value = chosen === 're' ? 're:^(.*?)[_-]?\\d*$' : chosen;
          }}
        >
          <option value="">none</option>
          <option value="folder">folder</option>
          <option value="all">all runs</option>
          <option value="re">pattern…</option>
          {hparams.value.params.map((parameter) => (
            <option key={parameter.name} value={`hp:${parameter.name}`}>
              {safeText(parameter.display || parameter.name)}
            </option>
          ))}
        </select>
      </label>
      {kind === 're' && (
        <input
          class="pattern"
          aria-label="Pattern of the groups"
          spellcheck={false}
          value={by.slice(3)}
          onInput={(event) => {
            groupBy.value = `re:${event.currentTarget.value}`;
          }}
        />
      )}
      {by !== '' && (
        <>
          <select
            aria-label="Middle of a group"
            value={groupCenter.value}
            onChange={(event) => {
              groupCenter.value = event.currentTarget.value as typeof groupCenter.value;
            }}
          >
            <option>mean</option>
            <option>median</option>
          </select>
          <select
            aria-label="Band of a group"
            value={groupBand.value}
            onChange={(event) => {
              groupBand.value = event.currentTarget.value as typeof groupBand.value;
            }}
          >
            <option value="std">± std</option>
            <option value="se">± s.e.</option>
            <option value="minmax">min–max</option>
            <option value="iqr">quartiles</option>
            <option value="none">no band</option>
          </select>
        </>
      )}
    </span>
  );
}

/** A chart of several tags, or of an expression of tags. */
function NewChart() {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const [text, setText] = useState('');
  const isExpression = text.startsWith('=');
  const found = isExpression ? variablesOf(text.slice(1), scalarTags.value) : null;
  const matching = text && !isExpression ? tagsOfPattern(text, scalarTags.value) : [];
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const ok = isExpression ? found!.tags.length > 0 && found!.missing.length === 0 : matching.length > 0;
  return (
    <>
      <button ref={button} type="button" class="tool" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="plus" /> chart
      </button>
      {open && button.current && (
        <Layer anchor={button.current} close={close}>
          <form
            class="popover"
            onSubmit={(event) => {
              event.preventDefault();
              if (!ok) return;
              if (!madeCharts.value.includes(text)) madeCharts.value = [...madeCharts.value, text];
              setText('');
              close();
            }}
          >
            <label class="stack">
              Tags by a pattern, or = and an expression
              <input
                ref={(input) => input?.focus()}
                spellcheck={false}
                placeholder="loss$   or   =train/loss - eval/loss"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <p class="faint">
              {text === ''
                ? 'All tags that match are drawn on one chart; expressions know + − * / ^, log, exp, abs; {a tag} in braces may hold any character.'
                : isExpression
                  ? found!.missing.length > 0
                    ? `There is no tag ${safeText(found!.missing.join(', '))}.`
                    : `Of ${safeText(found!.tags.map((t) => t.name).join(', '))}.`
                  : matching.length === 0
                    ? 'No tag matches.'
                    : `${matching.length}${matching.length === MOST_TAGS ? ' or more' : ''} tags: ${safeText(matching.map((t) => t.name).join(', '), 160)}`}
            </p>
            <button type="submit" class="primary" disabled={!ok}>
              Add the chart
            </button>
          </form>
        </Layer>
      )}
    </>
  );
}

function PageMenu() {
  const ids = sections.value.flatMap((s) => s.cards.filter((c) => c.kind === 'scalar').map((c) => c.tag.id));
  const url = (ending: string) =>
    apiUrl(`export.${ending}`, {
      tags: [...new Set(ids)].join(),
      runs: visibleRuns.value.map((run) => run.id).join(),
    });
  const folders = sections.value.map((s) => s.path);
  const size = (text: string, width: number) => ({
    text,
    checked: cardWidth.value === width,
    run: () => {
      cardWidth.value = width;
    },
  });
  return (
    <Menu
      label="Export and layout"
      items={[
        {
          text: `CSV of ${new Set(ids).size} tags, ${visibleRuns.value.length} runs`,
          href: url('csv'),
          download: 'scalars.csv',
        },
        { text: 'JSON of the same', href: url('json'), download: 'scalars.json' },
        null,
        size('Small cards', 280),
        size('Medium cards', 380),
        size('Large cards', 560),
        null,
        {
          text: 'Close all folders',
          run: () => {
            shutFolders.value = folders;
          },
        },
        {
          text: 'Open all folders',
          run: () => {
            shutFolders.value = [];
          },
        },
      ]}
    >
      <Icon name="download" />
      export
    </Menu>
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
