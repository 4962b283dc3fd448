/** The frame of every page: header, table of runs, the page, details, step cursor. */
import '../style/controls.css';
import '../style/header.css';
import '../style/menus.css';
import '../style/notice.css';
import '../style/inspector.css';
import '../style/step_bar.css';
import '../style/dialogs.css';
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { address, goTo, page } from '../address/url_state.ts';
import { Guard } from '../controls/error_boundary.tsx';
import { Icon } from '../controls/icons.tsx';
import { lazy } from '../controls/lazy.tsx';
import { Inspector } from '../inspector/inspector.tsx';
import { RunTable } from '../runs/table/run_table.tsx';
import { failure, loaded, meta, problems } from '../state/catalogue.ts';
import { onServerRestart } from '../state/server.ts';
import { nextTheme, theme } from '../style/theme.ts';
import { Banners } from './banners.tsx';
import { CommandPalette, paletteOpen } from './command_palette.tsx';
import { KeyList } from './keyboard_help.tsx';
import { keysOpen } from './keyboard_shortcuts.ts';
import { LiveMark } from './live_indicator.tsx';
import './builtin_commands.ts';
import { Splitter } from '../controls/splitter.tsx';
import { inspectedRun, inspectedTag } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { pages } from './pages.ts';
import { inspectorWidth, narrow, runsWidth } from './panel_widths.ts';
import { StepBar } from './step_cursor_bar.tsx';

const views = new Map(pages.map((p) => [p.id, lazy(p.load, `the page ${p.title}`)]));
/** What a page remembers by ids is of the old server. */
const serverRestarts = signal(0);
onServerRestart(() => {
  serverRestarts.value++;
});

export function Shell() {
  const shown = pages.find((p) => p.id === page.value) ?? pages[0]!;
  const Shown = views.get(shown.id)!;
  const side = useRef<HTMLDivElement>(null);
  const right = useRef<HTMLDivElement>(null);
  const withRuns = shown.runs === true;
  const withInspector = withRuns && (inspectedRun.value !== null || inspectedTag.value !== null);
  useLayoutEffect(() => {
    if (side.current) side.current.style.width = `${runsWidth.value}px`;
    if (right.current) right.current.style.width = `${inspectorWidth.value}px`;
  });
  useEffect(() => {
    const title = meta.value?.title || meta.value?.logdir;
    document.title = title ? `${safeText(title, 80)} · ${shown.title}` : shown.title;
  });
  useKeys();
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={skip}>
        Skip to the page
      </button>
      <header class="header">
        <strong class="logo">
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M1 5c3 0 3 6 7 6s4-6 7-6" />
            <path d="M1 11c3 0 3-6 7-6s4 6 7 6" />
          </svg>
          Headrace
        </strong>
        <nav class="tabs" aria-label="Pages">
          {pages.map((p) => (
            <a
              key={p.id}
              href={`#/${p.id}`}
              aria-current={p === shown ? 'page' : undefined}
              onPointerDown={(event) => {
                event.currentTarget.href = address(p.id); // for a new tab: with the view as it is now
              }}
              onClick={(event) => {
                if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
                event.preventDefault();
                goTo(p.id);
              }}
            >
              {p.title}
              {p.id === 'problems' && problems.value.length > 0 && (
                <span class="count">{problems.value.length}</span>
              )}
            </a>
          ))}
        </nav>
        <span class="grow" />
        {meta.value && (
          <span class="header-title">{safeText(meta.value.title || meta.value.logdir, 60)}</span>
        )}
        <button
          type="button"
          class="palette-button"
          onClick={() => {
            paletteOpen.value = true;
          }}
        >
          <Icon name="search" />
          Go to <kbd>Ctrl K</kbd>
        </button>
        <LiveMark />
        <button
          type="button"
          class="icon"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.value}`}
          title={`Theme: ${theme.value}. Click for the next`}
        >
          <Icon
            name={
              theme.value === 'light'
                ? 'sun'
                : theme.value === 'dark'
                  ? 'moon'
                  : theme.value === 'contrast'
                    ? 'contrast'
                    : 'auto'
            }
          />
        </button>
      </header>
      <Banners />
      {failure.value && !loaded.value ? (
        <main class="page" id="page">
          <div class="notice" role="alert">
            <h2>The server does not answer</h2>
            <p>{safeText(failure.value)}</p>
            <p class="faint">The page tries again by itself.</p>
          </div>
        </main>
      ) : (
        <div class="middle">
          {withRuns && !narrow.value && (
            <>
              <div class="side" ref={side}>
                <RunTable />
              </div>
              <Splitter width={runsWidth} side="left" label="Width of the runs" />
            </>
          )}
          <main class="page" id="page" tabIndex={-1}>
            <Guard key={`${shown.id} ${serverRestarts.value}`} what={`The page ${shown.title}`}>
              <Shown />
            </Guard>
          </main>
          {withInspector && (
            <>
              <Splitter width={inspectorWidth} side="right" label="Width of the details" />
              <div class="side" ref={right}>
                <Inspector />
              </div>
            </>
          )}
        </div>
      )}
      {shown.cursor && loaded.value && <StepBar />}
      <CommandPalette />
      <KeyList page={shown.id} />
    </div>
  );
}

function skip(): void {
  document.getElementById('page')?.focus();
}

/** Keys that hold everywhere. */
function useKeys(): void {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const command = event.ctrlKey || event.metaKey;
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element)?.tagName ?? '');
      if (command && event.key.toLowerCase() === 'k') paletteOpen.value = !paletteOpen.value;
      else if (command && event.key.toLowerCase() === 'b') narrow.value = !narrow.value;
      else if (event.altKey && /^[1-9]$/.test(event.key) && pages[Number(event.key) - 1]) {
        goTo(pages[Number(event.key) - 1]!.id);
      } else if (event.key === '/' && !isTyping && !command) {
        const field = document.getElementById('tag-filter');
        if (!field) return;
        field.focus();
      } else if (event.key === '?' && !isTyping && !command) keysOpen.value = !keysOpen.value;
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, []);
}
