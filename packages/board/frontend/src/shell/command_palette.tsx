/** Ctrl-K: pages, tags, runs and actions by a few letters of their names. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
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

export function CommandPalette() {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const all = useRef<Command[]>([]);
  const dialog = useRef<HTMLDialogElement>(null);
  const open = paletteOpen.value;
  useEffect(() => {
    if (!open) return;
    all.current = sources.flatMap((source) => source());
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
  const found = all.current
    .map((command, i) => ({ command, i, fit: fitness(command.text, needle) }))
    .filter((item) => item.fit > 0)
    .sort((a, b) => (needle ? b.fit - a.fit : 0) || a.i - b.i)
    .slice(0, MOST_SHOWN)
    .map((item) => item.command);
  const close = () => {
    paletteOpen.value = false;
  };
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
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
