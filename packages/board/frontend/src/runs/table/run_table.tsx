/** The table of runs: a tree of folders with boxes, or a flat list sorted by a column. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import '../../style/runs.css';
import { beginStep } from '../../address/url_state.ts';
import { Icon } from '../../controls/icons.tsx';
import { loaded, runs } from '../../state/catalogue.ts';
import { hoveredRun } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { listedRuns, query, runQuery, setRunsShown, showEveryRun, visibleRuns } from '../visible_runs.ts';
import { runTableKeys } from './run_table_keys.ts';
import { triState } from './run_tree.ts';
import { ColumnsMenu, TableMenu } from './table_menus.tsx';
import { Box, TableRow } from './table_row.tsx';
import { active, COLUMN, chosen, ROW, rows, shownColumns, sorting } from './table_rows.ts';

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
  return (
    <section class="runs" aria-label="Runs">
      <RunSearch />
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
        onKeyDown={runTableKeys(scroller, view.height)}
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

function RunSearch() {
  const { error } = query.value;
  const begun = useRef(false);
  return (
    <>
      <div class={`search${error ? ' wrong' : ''}`} title={error === null ? undefined : safeText(error, 300)}>
        <Icon name="search" />
        <input
          type="search"
          id="run-query"
          aria-label="Filter runs"
          aria-invalid={error !== null}
          placeholder="Filter: name, or acc > 0.9"
          spellcheck={false}
          value={runQuery.value}
          onFocus={() => {
            begun.current = false;
          }}
          onInput={(event) => {
            if (!begun.current) beginStep();
            begun.current = true;
            runQuery.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') runQuery.value = '';
          }}
        />
      </div>
      {error && <p class="query-error">{safeText(error)}</p>}
    </>
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
