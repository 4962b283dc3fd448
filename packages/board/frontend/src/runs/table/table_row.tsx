/** A row of the table of runs: a folder or a run, with its box, its colour and its cells. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { DashSwatch } from '../../controls/dash_swatch.tsx';
import { Icon } from '../../controls/icons.tsx';
import { runTitle } from '../../state/run_title.ts';
import { hoveredRun } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { shortNumber } from '../../units/numbers.ts';
import { styleOf } from '../colours.ts';
import { archivedRuns, showOnly } from '../visible_runs.ts';
import { ColourPicker } from './colour_picker.tsx';
import { type Row, type Tri, triState } from './run_tree.ts';
import { cell, chosen, inspect, ROW, shownColumns, toggleFolder, toggleRow } from './table_rows.ts';

export function TableRow({ row, index, isActive }: { row: Row; index: number; isActive: boolean }) {
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
      <Box state={isOn ? 'on' : 'off'} label={runTitle(run.name)} set={() => toggleRow(row)} />
      <button
        type="button"
        ref={swatch}
        class="swatch-button"
        tabIndex={-1}
        aria-label={`Colour of ${safeText(runTitle(run.name))}`}
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
        title={`${safeText(runTitle(run.name))}\nclick: details, double click: only this run`}
        onClick={() => inspect(run)}
        onDblClick={() => showOnly([run.name])}
      >
        {safeText(runTitle(row.title))}
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

export function Box({ state, label, set }: { state: Tri; label: string; set: (on: boolean) => void }) {
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
