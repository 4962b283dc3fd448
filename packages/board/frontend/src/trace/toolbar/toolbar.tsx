/** The tools of the Trace page: which step, how it is coloured, what is drawn over it, and search. */

import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { apiUrl } from '../../api/client.ts';
import { Menu, type MenuItem } from '../../controls/menu.tsx';
import { runById } from '../../state/catalogue.ts';
import { safeText } from '../../strings/safe_text.ts';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { count } from '../../units/numbers.ts';
import {
  type Colouring,
  colouring,
  pattern,
  scopesChoice,
  showArrows,
  showCritical,
  showMemory,
  sidebarTab,
} from '../address/address_fields.ts';
import { askToFind, type Found, found, goToFound, warm } from '../state/trace_search.ts';
import {
  chooseNeighbour,
  chooseTrace,
  chosen,
  chosenRun,
  compared,
  keyOfTrace,
  MOST_COMPARED,
  mainTrace,
  ofTheRun,
  showScopes,
  toggleCompared,
  tracedRuns,
} from '../state/trace_state.ts';
import { fit } from '../timeline/keys.ts';
import { arrowsLeftOut } from '../timeline/timeline_canvas.ts';

const COLOURINGS: [Colouring, string][] = [
  ['kind', 'Kind of op'],
  ['op', 'Op'],
  ['scope', 'Scope'],
  ['device', 'Device'],
  ['family', 'Structure'],
];

export function Toolbar() {
  const row = chosen.value;
  const model = mainTrace.value;
  const header = model?.header.value;
  const runs = tracedRuns.value;
  const arrows = arrowsLeftOut.value;
  const all = ofTheRun.value;
  const keys = keyOfTrace.value;
  const at = all.findIndex((one) => one.id === row?.id);
  const shownBelow = new Set(compared.value.map((one) => one.id));
  const full = shownBelow.size >= MOST_COMPARED;
  const others = all.filter((one) => one.id !== row?.id);
  const compare: MenuItem[] = others
    .filter((one) => shownBelow.has(one.id) || !full)
    .map((one) => ({
      text: `step ${safeText(keys.get(one.id) ?? String(one.step), 60)}`,
      checked: shownBelow.has(one.id),
      run: () => {
        toggleCompared(one);
        sidebarTab.value = 'compare';
      },
    }));
  const left = others.length - compare.length;
  return (
    <div class="trace-toolbar" role="toolbar" aria-label="Trace">
      {runs.size > 1 && (
        <label class="trace-pick">
          <span class="faint">Run</span>
          <select
            value={String(chosenRun.value ?? '')}
            onChange={(event) => {
              const rows = runs.get(Number(event.currentTarget.value));
              if (rows?.length) chooseTrace(rows.at(-1)!);
            }}
          >
            {[...runs.keys()].map((id) => (
              <option key={id} value={String(id)}>
                {safeText(runById.value.get(id)?.name ?? `run ${id}`, 60)}
              </option>
            ))}
          </select>
        </label>
      )}
      <span class="trace-pick">
        <span class="faint" id="trace-step">
          Step
        </span>
        <button
          type="button"
          class="trace-step"
          aria-label="Step before"
          title="Step before ( [ )"
          disabled={at <= 0}
          onClick={() => chooseNeighbour(-1)}
        >
          ‹
        </button>
        <select
          aria-labelledby="trace-step"
          value={String(row?.id ?? '')}
          onChange={(event) => {
            const next = all.find((one) => String(one.id) === event.currentTarget.value);
            if (next) chooseTrace(next);
          }}
        >
          {all.map((one) => (
            <option key={one.id} value={String(one.id)}>
              {safeText(keys.get(one.id) ?? String(one.step), 60)}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="trace-step"
          aria-label="Step after"
          title="Step after ( ] )"
          disabled={at < 0 || at >= all.length - 1}
          onClick={() => chooseNeighbour(1)}
        >
          ›
        </button>
      </span>
      {header && <strong class="trace-duration">{nanosecondsText(header.duration_ns)}</strong>}
      {compare.length > 0 && (
        <Menu label="Compare with other steps" items={compare}>
          Compare{shownBelow.size ? ` (${shownBelow.size})` : ''}
        </Menu>
      )}
      {full && left > 0 && (
        <span class="faint trace-limit">
          {MOST_COMPARED} at most: leave one out to add one of {left} more
        </span>
      )}
      <span class="trace-line" />
      <label class="trace-pick">
        <span class="faint">Colour</span>
        <select
          value={colouring.value}
          onChange={(event) => {
            colouring.value = event.currentTarget.value as Colouring;
          }}
        >
          {COLOURINGS.map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Toggle of={showCritical} title="What the step had to wait for (C)">
        Critical path
      </Toggle>
      <Toggle
        of={showArrows}
        title="Transfers between devices, the longest of those in sight, and long waits"
      >
        {arrows.drawn < arrows.seen && showArrows.value
          ? `Arrows: ${arrows.drawn} of ${count(arrows.seen)}`
          : 'Arrows'}
      </Toggle>
      <button
        type="button"
        class={`trace-toggle${showScopes.value ? ' on' : ''}`}
        aria-pressed={showScopes.value}
        title="Name scopes above the lanes"
        onClick={() => {
          scopesChoice.value = showScopes.peek() ? 'off' : 'on';
        }}
      >
        Scopes
      </button>
      <Toggle of={showMemory} title="What the allocators held">
        Memory
      </Toggle>
      <span class="grow" />
      <Find />
      <button type="button" title="Fit the selection, or the step (F)" onClick={fit}>
        Fit
      </button>
      {row && (
        <Menu
          label="More"
          items={[
            {
              text: 'Save as Chrome / Perfetto JSON',
              href: apiUrl(`trace/${row.id}/chrome.json`),
              download: `trace_step_${row.step}.json`,
            },
          ]}
        />
      )}
    </div>
  );
}

function Toggle({ of, title, children }: { of: typeof showCritical; title: string; children: string }) {
  return (
    <button
      type="button"
      class={`trace-toggle${of.value ? ' on' : ''}`}
      aria-pressed={of.value}
      title={title}
      onClick={() => {
        of.value = !of.peek();
      }}
    >
      {children}
    </button>
  );
}

function Find() {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    let heard = askToFind.peek();
    // At once, not at the next frame: what is typed after the key belongs into the box.
    return effect(() => {
      if (askToFind.value === heard) return;
      heard = askToFind.peek();
      box.current?.focus();
      box.current?.select();
    });
  }, []);
  const now = found.value;
  const walked =
    now && now.places.length < now.total ? ` Enter goes through the first ${now.places.length} of them.` : '';
  return (
    <span class={`trace-find${now?.wrong ? ' wrong' : ''}`} title={now?.said || walked || undefined}>
      <input
        ref={box}
        type="search"
        placeholder="Find node  /"
        aria-label="Find nodes by a pattern"
        value={pattern.value}
        onFocus={() => {
          const model = mainTrace.peek();
          if (model) void warm(model.id).catch(() => undefined); // the search itself says it
        }}
        onInput={(event) => {
          pattern.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') void goToFound(event.shiftKey ? -1 : 1);
          if (event.key === 'Escape') {
            pattern.value = '';
            event.currentTarget.blur();
          }
        }}
      />
      <span class="trace-count" role="status">
        {saidOf(now)}
      </span>
    </span>
  );
}

const WRONG = { pattern: 'not a pattern', time: 'takes too long', server: 'no answer' };

function saidOf(now: Found | null): string {
  if (!now) return '';
  if (now.wrong) return WRONG[now.wrong];
  if (now.total === 0) return 'none';
  return `${now.at >= 0 ? `${count(now.at + 1)} of ` : ''}${count(now.total)}`;
}
