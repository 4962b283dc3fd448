/** The table of runs: a tree of folders with boxes, or a flat list sorted by a column. */
import { computed, signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import '../style/runs.css';
import type { Run } from '../api/types.ts';
import { shortNumber } from '../charts/ticks.ts';
import { DashSwatch } from '../charts/tooltip.tsx';
import { Icon } from '../shell/icons.tsx';
import { Menu, type MenuItem } from '../shell/menu.tsx';
import { safeText } from '../shell/safe_text.ts';
import { loaded, runs, tags } from '../state/catalogue.ts';
import { hparams } from '../state/hparams.ts';
import { chooser } from '../state/run_choice.ts';
import { hoveredRun, inspectedRun, inspectedTag, runChoice } from '../state/selection.ts';
import { list, text } from '../state/url_codec.ts';
import { urlSignal } from '../state/url_state.ts';
import { ColourPicker } from './colour_picker.tsx';
import { styleOf } from './colours.ts';
import { type Row, rowsOf, sortRuns, type Tri, triState } from './run_tree.ts';
import {
  archive,
  archivedRuns,
  listedRuns,
  query,
  runQuery,
  runValue,
  setRunsShown,
  showArchived,
  showEveryRun,
  showOnly,
  visibleRuns,
} from './visible_runs.ts';

/** Further columns: names of hyperparameters or tags, `min:TAG`, `max:TAG`. */
export const columns = urlSignal<string[]>('cols', list, []);
/** The column by which runs are sorted; "-" before it: downwards. "" is the tree. */
export const sorting = urlSignal('sort', text, '');
export const shutRunFolders = urlSignal<string[]>('rshut', list, []);

const ROW = 24;
const COLUMN = 84;

const chosen = computed(() => chooser(runChoice.value));

function cell(run: Run, column: string): unknown {
  const [, of, name] = /^(min|max):(.*)$/.exec(column) ?? [];
  return of ? runValue(run, name!, of as 'min' | 'max') : runValue(run, column);
}

const shownColumns = computed(() => {
  // What a condition asks for is shown while it is asked for.
  const asked = query.value.fields.filter((f) => f !== 'name' && !columns.value.includes(f));
  return [...columns.value, ...asked];
});

const rows = computed<Row[]>(() => {
  const by = sorting.value;
  if (by === '') return rowsOf(listedRuns.value, new Set(shutRunFolders.value));
  const down = by.startsWith('-');
  const column = down ? by.slice(1) : by;
  return sortRuns(listedRuns.value, (run) => cell(run, column), down).map((run) => ({
    kind: 'run',
    run,
    title: run.name,
    depth: 0,
  }));
});

const active = signal(0);

export function RunTable() {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = scroller.current!;
    const observer = new ResizeObserver(() =>
      setView({ top: element.scrollTop, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const all = rows.value;
  const first = Math.max(0, Math.floor(view.top / ROW) - 6);
  const last = Math.min(all.length, Math.ceil((view.top + view.height) / ROW) + 6);
  const names = listedRuns.value.map((run) => run.name);
  const state = triState(names, chosen.value);
  const body = useRef<HTMLDivElement>(null);
  const isWide = shownColumns.value.length > 0;
  useLayoutEffect(() => {
    body.current!.style.height = `${all.length * ROW}px`;
    body.current!.style.minWidth = isWide ? `${180 + shownColumns.value.length * COLUMN}px` : '';
  });
  const go = (to: number) => {
    active.value = Math.max(0, Math.min(all.length - 1, to));
    const y = active.value * ROW;
    const element = scroller.current!;
    if (y < element.scrollTop) element.scrollTop = y;
    if (y + ROW > element.scrollTop + element.clientHeight)
      element.scrollTop = y + ROW - element.clientHeight;
    const row = all[active.value];
    hoveredRun.value = row?.kind === 'run' ? row.run.id : null;
  };
  const keys = (event: KeyboardEvent) => {
    const row = all[active.value];
    const page = Math.floor(view.height / ROW) - 1;
    switch (event.key) {
      case 'ArrowDown':
        go(active.value + 1);
        break;
      case 'ArrowUp':
        go(active.value - 1);
        break;
      case 'PageDown':
        go(active.value + page);
        break;
      case 'PageUp':
        go(active.value - page);
        break;
      case 'Home':
        go(0);
        break;
      case 'End':
        go(all.length - 1);
        break;
      case ' ':
        if (row) toggleRow(row);
        break;
      case 'Enter':
        if (row?.kind === 'folder') toggleFolder(row.path);
        else if (row) showOnly([row.run.name]);
        break;
      case 'ArrowRight':
      case 'ArrowLeft':
        if (row?.kind === 'folder' && row.open === (event.key === 'ArrowLeft')) toggleFolder(row.path);
        break;
      case 'i':
        if (row?.kind === 'run') inspect(row.run);
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  return (
    <section class="runs" aria-label="Runs">
      <div class={`search${query.value.error ? ' wrong' : ''}`} title={query.value.error ?? undefined}>
        <Icon name="search" />
        <input
          type="search"
          id="run-query"
          aria-label="Filter runs"
          aria-invalid={query.value.error !== null}
          placeholder="Filter: name, or acc > 0.9"
          spellcheck={false}
          value={runQuery.value}
          onInput={(event) => {
            runQuery.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') runQuery.value = '';
          }}
        />
      </div>
      {query.value.error && <p class="query-error">{safeText(query.value.error)}</p>}
      <div class="runs-head">
        <Box
          state={state}
          label="All listed runs"
          set={(on) => (on && runQuery.value === '' ? showEveryRun() : setRunsShown(names, on))}
        />
        <span class="runs-count">
          {visibleRuns.value.length} of {runs.value.length} runs
        </span>
        <ColumnsMenu />
        <TableMenu />
      </div>
      <div
        class="runs-scroll"
        ref={scroller}
        role="tree"
        aria-label="Runs"
        aria-multiselectable="true"
        aria-activedescendant={all[active.value] ? `run-row-${active.value}` : undefined}
        tabIndex={0}
        onScroll={(event) =>
          setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })
        }
        onKeyDown={keys}
        onPointerLeave={() => {
          hoveredRun.value = null;
        }}
      >
        {isWide && <Headings />}
        <div class="runs-body" ref={body} role="none">
          {all.slice(first, last).map((row, i) => (
            <TableRow
              key={row.kind === 'run' ? `r${row.run.id}` : `f${row.path}`}
              row={row}
              index={first + i}
              isActive={first + i === active.value}
            />
          ))}
        </div>
        {all.length === 0 && loaded.value && (
          <p class="runs-none">{runs.value.length === 0 ? 'There are no runs yet.' : 'No run matches.'}</p>
        )}
      </div>
    </section>
  );
}

function Headings() {
  return (
    <div class="runs-headings" role="none">
      <SortButton column="name" />
      {shownColumns.value.map((column) => (
        <SortButton key={column} column={column} />
      ))}
    </div>
  );
}

function SortButton({ column }: { column: string }) {
  const by = sorting.value;
  const isUp = by === column;
  const isDown = by === `-${column}`;
  const name = column.replace(/^(min|max):/, '$1 ');
  return (
    <button
      type="button"
      class={`runs-heading${column === 'name' ? ' first' : ''}`}
      title={`Sort by ${safeText(column)}`}
      onClick={() => {
        sorting.value = isUp ? `-${column}` : isDown ? '' : column;
      }}
    >
      <span>{safeText(name.slice(name.lastIndexOf('/') + 1))}</span>
      {isUp ? ' ↑' : isDown ? ' ↓' : ''}
    </button>
  );
}

function toggleRow(row: Row): void {
  if (row.kind === 'run') setRunsShown([row.run.name], !chosen.value(row.run.name));
  else setRunsShown(row.names, triState(row.names, chosen.value) !== 'on');
}

function toggleFolder(path: string): void {
  const now = shutRunFolders.value;
  shutRunFolders.value = now.includes(path) ? now.filter((one) => one !== path) : [...now, path];
}

function inspect(run: Run): void {
  inspectedRun.value = run.id;
  inspectedTag.value = null;
}

function TableRow({ row, index, isActive }: { row: Row; index: number; isActive: boolean }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    element.current!.style.transform = `translateY(${index * ROW}px)`;
    const indent = Math.min(row.depth, 8) * 16 + (row.kind === 'run' && row.depth > 0 ? 4 : 0);
    element.current!.style.paddingLeft = `${8 + indent}px`;
  });
  const [picking, setPicking] = useState(false);
  const swatch = useRef<HTMLButtonElement>(null);
  if (row.kind === 'folder') {
    return (
      <div
        ref={element}
        id={`run-row-${index}`}
        class={`run-row folder${isActive ? ' active' : ''}`}
        role="treeitem"
        tabIndex={-1}
        aria-level={row.depth + 1}
        aria-expanded={row.open}
        aria-checked={ariaOf(triState(row.names, chosen.value))}
      >
        <button
          type="button"
          class="icon twisty"
          tabIndex={-1}
          aria-label={row.open ? 'Close' : 'Open'}
          onClick={() => toggleFolder(row.path)}
        >
          <Icon name={row.open ? 'down' : 'right'} />
        </button>
        <Box state={triState(row.names, chosen.value)} label={row.title} set={() => toggleRow(row)} />
        <button
          type="button"
          class="row-name"
          tabIndex={-1}
          onClick={() => toggleFolder(row.path)}
          title={safeText(row.path)}
        >
          {safeText(row.title)}
        </button>
        <span class="count">{row.names.length}</span>
      </div>
    );
  }
  const { run } = row;
  const style = styleOf(run.id);
  const isOn = chosen.value(run.name);
  const isArchived = archivedRuns.value.includes(run.name);
  return (
    <div
      ref={element}
      id={`run-row-${index}`}
      class={`run-row${isActive ? ' active' : ''}${hoveredRun.value === run.id ? ' hovered' : ''}${isOn ? '' : ' unchosen'}`}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.depth + 1}
      aria-checked={isOn}
      onPointerEnter={() => {
        hoveredRun.value = run.id;
      }}
    >
      <Box state={isOn ? 'on' : 'off'} label={run.name} set={() => toggleRow(row)} />
      <button
        type="button"
        ref={swatch}
        class="swatch-button"
        tabIndex={-1}
        aria-label={`Colour of ${safeText(run.name)}`}
        onClick={() => setPicking(true)}
      >
        <DashSwatch colour={style.colour} dash={style.dash} />
      </button>
      {picking && swatch.current && (
        <ColourPicker run={run} anchor={swatch.current} close={() => setPicking(false)} />
      )}
      <button
        type="button"
        class="row-name"
        tabIndex={-1}
        title={`${safeText(run.name)}\nclick: details, double click: only this run`}
        onClick={() => inspect(run)}
        onDblClick={() => showOnly([run.name])}
      >
        {safeText(row.title)}
      </button>
      {run.live && <span class="live-dot" role="img" aria-label="being written" title="being written" />}
      {isArchived && <span class="faint">archived</span>}
      {shownColumns.value.map((column) => (
        <Cell key={column} value={cell(run, column)} />
      ))}
    </div>
  );
}

function Cell({ value }: { value: unknown }) {
  const shown =
    value === undefined || value === null
      ? ''
      : typeof value === 'number'
        ? shortNumber(value)
        : safeText(String(value), 60);
  return <span class={`run-cell${typeof value === 'number' ? ' numeric' : ''}`}>{shown}</span>;
}

const ariaOf = (state: Tri): 'true' | 'false' | 'mixed' =>
  state === 'on' ? 'true' : state === 'off' ? 'false' : 'mixed';

function Box({ state, label, set }: { state: Tri; label: string; set: (on: boolean) => void }) {
  const element = useRef<HTMLInputElement>(null);
  useEffect(() => {
    element.current!.indeterminate = state === 'some';
    element.current!.checked = state === 'on';
  });
  return (
    <input
      ref={element}
      type="checkbox"
      class="box"
      tabIndex={-1}
      aria-label={safeText(label)}
      onChange={() => set(state !== 'on')}
    />
  );
}

function ColumnsMenu() {
  const has = (column: string) => columns.value.includes(column);
  const item = (column: string, name: string): MenuItem => ({
    text: safeText(name, 80),
    checked: has(column),
    run: () => {
      columns.value = has(column)
        ? columns.value.filter((one) => one !== column)
        : [...columns.value, column];
    },
  });
  const scalars = tags.value.filter((tag) => tag.kind === 'scalar').slice(0, 60);
  const items: MenuItem[] = [
    ...hparams.value.params.map((p) => item(p.name, p.display || p.name)),
    ...(hparams.value.params.length > 0 ? [null] : []),
    item('steps', 'last step'),
    item('segments', 'restarts'),
    null,
    ...scalars.flatMap((tag) => [
      item(tag.name, `${tag.name}, last`),
      item(`min:${tag.name}`, `${tag.name}, least`),
      item(`max:${tag.name}`, `${tag.name}, greatest`),
    ]),
  ];
  return (
    <Menu label="Columns" items={items}>
      <Icon name="columns" />
    </Menu>
  );
}

function TableMenu() {
  const shown = visibleRuns.value.map((run) => run.name);
  const archivedNames = archivedRuns.value;
  return (
    <Menu
      label="More of the runs"
      items={[
        { text: 'Show all', run: showEveryRun },
        {
          text: 'Show none',
          run: () =>
            setRunsShown(
              listedRuns.value.map((run) => run.name),
              false,
            ),
        },
        {
          text: 'Swap shown and hidden',
          run: () => {
            const on = new Set(shown);
            showOnly(listedRuns.value.filter((run) => !on.has(run.name)).map((run) => run.name));
          },
        },
        null,
        {
          text: 'Sort by name',
          checked: sorting.value === 'name',
          run: () => {
            sorting.value = sorting.value === 'name' ? '' : 'name';
          },
        },
        null,
        {
          text: `Archive the ${shown.length} shown`,
          off: shown.length === 0,
          run: () => archive(shown, true),
        },
        {
          text: 'List archived runs',
          checked: showArchived.value,
          run: () => {
            showArchived.value = !showArchived.value;
          },
        },
        {
          text: 'Bring all back from the archive',
          off: archivedNames.length === 0,
          run: () => archive(archivedNames, false),
        },
      ]}
    />
  );
}
