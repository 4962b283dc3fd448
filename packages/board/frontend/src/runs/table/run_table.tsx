/** The table of runs: a tree of folders with boxes, or a flat list sorted by a column. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import '../../style/runs.css';
import { Icon } from '../../controls/icons.tsx';
import { loaded, runs } from '../../state/catalogue.ts';
import { hoveredRun } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import {
  listedRuns,
  query,
  runQuery,
  setRunsShown,
  showEveryRun,
  showOnly,
  visibleRuns,
} from '../visible_runs.ts';
import { triState } from './run_tree.ts';
import { ColumnsMenu, TableMenu } from './table_menus.tsx';
import { Box, TableRow } from './table_row.tsx';
import {
  active,
  COLUMN,
  chosen,
  inspect,
  ROW,
  rows,
  shownColumns,
  sorting,
  toggleFolder,
  toggleRow,
} from './table_rows.ts';

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
      <div
        class={`search${query.value.error ? ' wrong' : ''}`}
        title={query.value.error === null ? undefined : safeText(query.value.error, 300)}
      >
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
