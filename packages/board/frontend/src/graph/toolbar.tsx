/** Above the picture: which graph, search, colours, what is open and hidden, comparison, files. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { sendBytes } from '../api/client.ts';
import { safeText } from '../shell/safe_text.ts';
import { count } from './canvas/draw_scene.ts';
import type { ColourMode } from './canvas/paint.ts';
import type { Stage } from './canvas/stage.ts';
import { loadCosts, loadDifference, type TraceEntry, tracesOf } from './costs.ts';
import { dotUrl, savePng, saveSvg } from './export_graph.ts';
import {
  cameraInUrl,
  colourMode,
  current,
  failure,
  graphName,
  graphs,
  loadGraphs,
  nameOf,
  otherName,
  type Session,
  viewText,
} from './session.ts';

const MODES: [ColourMode, string][] = [
  ['structure', 'Structure'],
  ['device', 'Device'],
  ['op', 'Kind of op'],
  ['time', 'Compute time'],
  ['memory', 'Memory'],
  ['diff', 'Difference'],
];

export function chooseGraph(name: string): void {
  cameraInUrl.value = null;
  viewText.value = '';
  graphName.value = name;
}

export async function upload(file: File): Promise<void> {
  try {
    const { id } = await sendBytes<{ id: number }>('graphs/upload', { name: file.name }, file);
    await loadGraphs();
    const entry = graphs.peek()?.find((g) => g.id === id);
    if (entry) chooseGraph(nameOf(entry));
  } catch (error) {
    failure.value = `${file.name}: ${error instanceof Error ? error.message : error}`;
  }
}

export function Toolbar({
  session,
  stage,
  searchBox,
}: {
  session: Session | null;
  stage: { current: Stage | null };
  searchBox: { current: HTMLInputElement | null };
}) {
  const file = useRef<HTMLInputElement>(null);
  const all = graphs.value ?? [];
  return (
    <div class="graph-bar" role="toolbar" aria-label="Graph">
      <label>
        <span class="g-bar-label">Graph</span>
        <select
          class="graph-choice"
          value={current.value ? nameOf(current.value) : ''}
          onChange={(event) => chooseGraph(event.currentTarget.value)}
        >
          {all.map((g) => (
            <option key={g.id} value={nameOf(g)}>
              {safeText(nameOf(g))}
              {g.nodes === null ? '' : ` · ${count(g.nodes)} ops`}
            </option>
          ))}
        </select>
      </label>
      {session && <SearchBox session={session} input={searchBox} />}
      {session && <Colours session={session} />}
      {session && (
        <span class="g-button-pair">
          <button type="button" onClick={() => session.collapseAll()}>
            Collapse all
          </button>
          <button type="button" onClick={() => session.expandAll()} disabled={session.view.value.allOpen}>
            Expand all
          </button>
        </span>
      )}
      {session && <HideOps session={session} />}
      {session && all.length > 1 && <Compare session={session} />}
      <span class="grow" />
      <button
        type="button"
        onClick={() => file.current?.click()}
        title=".pb, .pbtxt, SavedModel, .meta; or drop it here"
      >
        Open file…
      </button>
      <input
        ref={file}
        type="file"
        hidden
        accept=".pb,.pbtxt,.meta,.txt"
        aria-label="Graph file"
        onChange={(event) => {
          const chosen = event.currentTarget.files?.[0];
          if (chosen) void upload(chosen);
          event.currentTarget.value = '';
        }}
      />
      {session && (
        <Popover label="Export">
          <button
            type="button"
            class="quiet"
            onClick={() => stage.current && saveSvg(session, stage.current)}
          >
            SVG
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => stage.current && savePng(session, stage.current)}
          >
            PNG
          </button>
          <a class="g-menu-link" href={dotUrl(session)} download={`${session.entry.title}.dot`}>
            DOT
          </a>
        </Popover>
      )}
    </div>
  );
}

/** A button with a panel under it; Escape or a click elsewhere closes it. */
export function Popover({ label, children }: { label: string; children: preact.ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, [open]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only hears the Escape of what is within
    <div
      class="g-popover"
      ref={box}
      onKeyDown={(event) => {
        if (event.key === 'Escape') setOpen(false);
      }}
    >
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label} ▾
      </button>
      {open && <div class="g-popover-panel">{children}</div>}
    </div>
  );
}

function SearchBox({ session, input }: { session: Session; input: { current: HTMLInputElement | null } }) {
  const [outcome, setOutcome] = useState<{ found: number[]; count: number; text: string } | null>(null);
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const turn = useRef(0);
  const run = async (pattern: string) => {
    const mine = ++turn.current;
    if (pattern === '') {
      setOutcome(null);
      return;
    }
    const result = await session.search.find(pattern);
    if (!result || mine !== turn.current) return;
    setAt(0);
    setOpen(true);
    setOutcome(
      result.kind === 'found'
        ? { found: result.found, count: result.count, text: result.count === 0 ? 'No name matches.' : '' }
        : { found: [], count: 0, text: result.text },
    );
  };
  const go = (i: number) => {
    const v = outcome?.found[i];
    if (v === undefined) return;
    setAt(i);
    session.goTo(v);
  };
  return (
    <div
      class="g-search"
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node)) setOpen(false);
      }}
    >
      <input
        type="search"
        ref={input}
        class="g-search-box"
        placeholder="Find ops and groups: regular expression  ( / )"
        aria-label="Find ops and groups by a regular expression"
        spellcheck={false}
        onFocus={() => session.search.warm()}
        onInput={(event) => void run(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            go(event.shiftKey ? Math.max(0, at - 1) : open && outcome ? at : at + 1);
            setOpen(false);
          } else if (event.key === 'ArrowDown' && outcome) {
            setOpen(true);
            setAt(Math.min(outcome.found.length - 1, at + 1));
          } else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
          else if (event.key === 'Escape') {
            setOpen(false);
            event.currentTarget.blur();
          } else return;
          event.preventDefault();
        }}
      />
      {open && outcome && (
        <div class="g-search-found">
          {outcome.text !== '' && <p class="g-quiet-text">{outcome.text}</p>}
          {outcome.count > 0 && (
            <p class="g-quiet-text">
              {count(outcome.count)} found
              {outcome.count > outcome.found.length ? `, the first ${outcome.found.length} here` : ''}
            </p>
          )}
          <ul class="g-node-links">
            {outcome.found.slice(Math.max(0, at - 6), Math.max(0, at - 6) + 14).map((v) => {
              const i = outcome.found.indexOf(v);
              return (
                <li key={v}>
                  <button
                    type="button"
                    class="g-node-link"
                    aria-current={i === at ? 'true' : undefined}
                    onClick={() => {
                      go(i);
                      setOpen(false);
                    }}
                  >
                    <span class="g-node-link-name">
                      <bdi>{safeText(session.model.path(v))}</bdi>
                    </span>
                    <span class="g-node-link-more">
                      {session.model.isGroup(v)
                        ? `${count(session.model.size[v]!)} ops`
                        : session.model.opName(v)}
                    </span>
                  </button>
                </li>
              );
            })}
          </ul>
        </div>
      )}
    </div>
  );
}

function Colours({ session }: { session: Session }) {
  const [traces, setTraces] = useState<TraceEntry[] | null>(null);
  const [chosen, setChosen] = useState<number[]>([]);
  const mode = colourMode.value;
  const costly = mode === 'time' || mode === 'memory';
  useEffect(() => {
    if (!costly || traces) return;
    tracesOf(session.entry).then(
      (found) => {
        setTraces(found);
        setChosen(found.map((t) => t.id));
      },
      () => setTraces([]),
    );
  }, [costly, session, traces]);
  useEffect(() => {
    if (costly && chosen.length > 0) {
      loadCosts(session, chosen).catch((error) => {
        failure.value = String(error instanceof Error ? error.message : error);
      });
    }
  }, [costly, session, chosen]);
  return (
    <>
      <label>
        <span class="g-bar-label">Colour</span>
        <select
          value={mode}
          onChange={(event) => {
            colourMode.value = event.currentTarget.value as ColourMode;
          }}
        >
          {MODES.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {costly && traces && traces.length > 1 && (
        <Popover label={`Steps: ${chosen.length}`}>
          {traces.map((t) => (
            <label class="g-menu-link" key={t.id}>
              <input
                type="checkbox"
                checked={chosen.includes(t.id)}
                onChange={(event) =>
                  setChosen(
                    event.currentTarget.checked ? [...chosen, t.id] : chosen.filter((id) => id !== t.id),
                  )
                }
              />{' '}
              step {t.step} · {safeText(t.tag)}
            </label>
          ))}
        </Popover>
      )}
    </>
  );
}

function HideOps({ session }: { session: Session }) {
  const { model } = session;
  const { hidden } = session.view.value;
  const counts = new Map<number, number>();
  for (let v = 0; v < model.ops; v++) counts.set(model.op[v]!, (counts.get(model.op[v]!) ?? 0) + 1);
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  return (
    <Popover label={hidden.size > 0 ? `Hidden: ${hidden.size}` : 'Hide ops'}>
      <div class="g-op-kinds">
        {rows.map(([op, n]) => (
          <label key={op} class="g-menu-link">
            <input
              type="checkbox"
              checked={hidden.has(op)}
              onChange={(event) => session.hideOp(op, event.currentTarget.checked)}
            />{' '}
            {safeText(model.header.strings.ops[op] ?? '')} <span class="g-node-link-more">{count(n)}</span>
          </label>
        ))}
      </div>
    </Popover>
  );
}

function Compare({ session }: { session: Session }) {
  const others = (graphs.value ?? []).filter((g) => g.id !== session.entry.id);
  const name = otherName.value;
  useEffect(() => {
    const other = others.find((g) => nameOf(g) === name);
    if (!other) {
      session.difference.value = null;
      return;
    }
    loadDifference(session, other).catch((error) => {
      failure.value = String(error instanceof Error ? error.message : error);
    });
  }, [session, name]);
  return (
    <label>
      <span class="g-bar-label">Compare with</span>
      <select
        value={name}
        onChange={(event) => {
          otherName.value = event.currentTarget.value;
          colourMode.value = event.currentTarget.value ? 'diff' : 'structure';
        }}
      >
        <option value="">nothing</option>
        {others.map((g) => (
          <option key={g.id} value={nameOf(g)}>
            {safeText(nameOf(g))}
          </option>
        ))}
      </select>
    </label>
  );
}
