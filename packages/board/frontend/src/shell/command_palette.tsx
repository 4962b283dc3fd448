/** Ctrl-K: pages, tags, runs and actions by a few letters of their names. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { localSignal } from '../browser/local_storage.ts';
import { fitness } from '../strings/fuzzy_score.ts';
import { safeText } from '../strings/safe_text.ts';

export interface Command {
  text: string;
  /** What kind of thing it is: shown faintly, and groups the list. */
  kind: string;
  hint?: string;
  run: () => void;
}

type Source = () => Command[];

const sources: Source[] = [];
export const paletteOpen = signal(false);

/** Adds commands; the source is called each time the palette opens. */
export function addCommands(source: Source): void {
  sources.push(source);
}

const MOST_SHOWN = 60;
const MOST_RECENT = 5;
/** The commands that were run last, in JSON: pairs of kind and text. */
const recent = localSignal<string>('recent-commands', '[]');

function recentNames(): [string, string][] {
  try {
    return JSON.parse(recent.peek()) as [string, string][];
  } catch {
    return [];
  }
}

/** Pages are in the list anyway. */
function remember({ kind, text }: Command): void {
  if (kind === 'page' || kind === 'recent') return;
  const others = recentNames().filter(([k, t]) => k !== kind || t !== text);
  recent.value = JSON.stringify([[kind, text], ...others].slice(0, MOST_RECENT));
}

/** What the palette opens with: the pages, what was used last, the actions. */
function firstCommands(all: Command[]): Command[] {
  const used = recentNames().flatMap(([kind, text]) => {
    const found = all.find((one) => one.kind === kind && one.text === text);
    return found ? [found] : [];
  });
  const rest = all.filter(({ kind }) => kind === 'action').filter((one) => !used.includes(one));
  const again = used.map((one) => ({ ...one, kind: 'recent', run: () => runAgain(one) }));
  return [...all.filter(({ kind }) => kind === 'page'), ...again, ...rest];
}

function runAgain(command: Command): void {
  remember(command);
  command.run();
}

function matching(all: Command[], needle: string): Command[] {
  return all
    .map((command, i) => ({ command, i, fit: fitness(command.text, needle) }))
    .filter((item) => item.fit > 0)
    .sort((a, b) => b.fit - a.fit || a.i - b.i)
    .slice(0, MOST_SHOWN)
    .map((item) => item.command);
}

export function CommandPalette() {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [all, setAll] = useState<Command[]>([]);
  const dialog = useRef<HTMLDialogElement>(null);
  const open = paletteOpen.value;
  useEffect(() => {
    if (!open) return;
    setAll(sources.flatMap((source) => source()));
    setTyped('');
    setAt(0);
    dialog.current?.showModal();
    field.current?.focus();
  }, [open]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  });
  if (!open) return null;
  const needle = typed.trim().toLowerCase();
  const found = needle === '' ? firstCommands(all) : matching(all, needle);
  const close = () => {
    paletteOpen.value = false;
  };
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    remember(command);
    command.run();
  };
  return (
    <dialog
      class="palette"
      ref={dialog}
      aria-label="Go to"
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label="Go to"
        placeholder="Go to a page, tag, run or action"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, at + 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
          else if (event.key === 'Enter') run(found[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div class="palette-list" id="palette-list" role="listbox" aria-label="Found" ref={list}>
        {found.map((command, i) => (
          <div
            key={i}
            id={`palette-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            class="palette-item"
            onClick={() => run(command)}
            onKeyDown={() => undefined}
            onPointerMove={() => i !== at && setAt(i)}
          >
            <span class="palette-kind">{command.kind}</span>
            <span class="palette-text">{safeText(command.text, 200)}</span>
            {command.hint && <kbd>{command.hint}</kbd>}
          </div>
        ))}
        {found.length === 0 && <p class="faint">Nothing matches.</p>}
      </div>
    </dialog>
  );
}
