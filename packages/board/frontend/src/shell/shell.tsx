/** The frame of every page: header, table of runs, the page, details, step cursor. */
import '../style/controls.css';
import '../style/header.css';
import '../style/menus.css';
import '../style/notice.css';
import '../style/inspector.css';
import '../style/step_cursor_bar.css';
import '../style/dialogs.css';
import '../style/small_screen.css';
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { page } from '../address/url_state.ts';
import { Drawer } from '../controls/drawer.tsx';
import { ErrorBoundary } from '../controls/error_boundary.tsx';
import { lazy } from '../controls/lazy.tsx';
import { Splitter } from '../controls/splitter.tsx';
import { Inspector } from '../inspector/inspector.tsx';
import { RunTable } from '../runs/table/run_table.tsx';
import { failure, loaded, meta } from '../state/catalogue.ts';
import { inspectedRun, inspectedTag } from '../state/selection.ts';
import { onServerRestart } from '../state/server.ts';
import { isSmall, runsOpen } from '../state/small_screen.ts';
import { safeText } from '../strings/safe_text.ts';
import { Banners } from './banners.tsx';
import './builtin_commands.ts';
import { CommandPalette } from './command_palette.tsx';
import { Header } from './header.tsx';
import { KeyboardHelp } from './keyboard_help.tsx';
import { type Page, pages } from './pages.ts';
import { inspectorWidth, narrow, runsWidth } from './panel_widths.ts';
import { StepCursorBar } from './step_cursor_bar.tsx';
import { useShellKeys } from './use_shell_keys.ts';

const views = new Map(pages.map((p) => [p.id, lazy(p.load, `the page ${p.title}`)]));
/** A page is mounted anew after a restart: ids that it remembers are those of the old server. */
const serverRestarts = signal(0);
onServerRestart(() => {
  serverRestarts.value++;
});

export function Shell() {
  const shown = pages.find((p) => p.id === page.value) ?? pages[0]!;
  useEffect(() => {
    const title = meta.value?.title || meta.value?.logdir;
    document.title = title ? `${safeText(title, 80)} · ${shown.title}` : shown.title;
  });
  useShellKeys();
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('page')?.focus()}>
        Skip to the page
      </button>
      <Header shown={shown} />
      <Banners />
      {failure.value && !loaded.value ? <NoServer why={failure.value} /> : <Panels shown={shown} />}
      {shown.cursor && loaded.value && <StepCursorBar />}
      <CommandPalette />
      <KeyboardHelp page={shown.id} />
    </div>
  );
}

function NoServer({ why }: { why: string }) {
  return (
    <main class="page" id="page">
      <div class="notice" role="alert">
        <h2>The server does not respond</h2>
        <p>{safeText(why)}</p>
        <p class="faint">The page tries again automatically.</p>
      </div>
    </main>
  );
}

function closeDetails(): void {
  inspectedRun.value = null;
  inspectedTag.value = null;
}

/** The page between the table of runs and the details. */
function Panels({ shown }: { shown: Page }) {
  const Shown = views.get(shown.id)!;
  const left = useRef<HTMLDivElement>(null);
  const right = useRef<HTMLDivElement>(null);
  const withRuns = shown.runs === true;
  const withInspector = withRuns && (inspectedRun.value !== null || inspectedTag.value !== null);
  useLayoutEffect(() => {
    if (left.current) left.current.style.width = `${runsWidth.value}px`;
    if (right.current) right.current.style.width = `${inspectorWidth.value}px`;
  });
  return (
    <div class="middle">
      {withRuns && isSmall.value && runsOpen.value && (
        <Drawer side="left" label="Runs" close={() => (runsOpen.value = false)}>
          <RunTable />
        </Drawer>
      )}
      {withRuns && !isSmall.value && !narrow.value && (
        <>
          <div class="side" ref={left}>
            <RunTable />
          </div>
          <Splitter width={runsWidth} side="left" label="Width of the runs" />
        </>
      )}
      <main class="page" id="page" tabIndex={-1}>
        <ErrorBoundary key={`${shown.id} ${serverRestarts.value}`} what={`The page ${shown.title}`}>
          <Shown />
        </ErrorBoundary>
      </main>
      {withInspector && isSmall.value && (
        <Drawer side="right" label="Details" close={closeDetails} hasClose>
          <Inspector />
        </Drawer>
      )}
      {withInspector && !isSmall.value && (
        <>
          <Splitter width={inspectorWidth} side="right" label="Width of the details" />
          <div class="side" ref={right}>
            <Inspector />
          </div>
        </>
      )}
    </div>
  );
}
