/** Messages while a trace is being read, or when it cannot be read. */

import type { ComponentChildren } from 'preact';
import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import type { TraceModel } from '../data/trace_model.ts';
import { shown, timelineWidth, traceName, traces } from '../state/trace_state.ts';

function nameOf(model: TraceModel): string {
  return safeText(traceName(model.id), 100);
}

function sizeOf(model: TraceModel): string {
  const row = traces.value?.find((one) => one.id === model.id);
  return row?.bytes ? `, ${memorySize(row.bytes)}` : '';
}

/** Shown in place of the timeline until it can be drawn. */
export function Opening({ model }: { model: TraceModel }) {
  const failure = model.failure.value;
  if (failure !== null) {
    return (
      <Failed retry={() => model.retry(timelineWidth.peek())}>
        <p>The trace of {nameOf(model)} could not be read.</p>
        <p class="faint">{failure}</p>
      </Failed>
    );
  }
  return (
    <div class="trace-opening" role="status" aria-busy="true">
      <span class="trace-busy" aria-hidden="true" />
      <p>
        Reading {nameOf(model)}
        {sizeOf(model)}…
      </p>
      <p class="faint">The first time the server reads the whole trace; then it keeps it.</p>
    </div>
  );
}

export function Failed({ retry, children }: { retry: () => void; children: ComponentChildren }) {
  return (
    <div class="trace-opening" role="alert">
      {children}
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

/** A failure within a tab, with a button to try again. */
export function TabFailure({ children, retry }: { children: string; retry: () => void }) {
  return (
    <section role="alert">
      <p class="faint">{children}</p>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </section>
  );
}

/** Notices above the timeline: steps that are being read or failed, and windows without finer detail. */
export function Notices() {
  const notices = shown.value.flatMap((model, i): { text: string; retry: (() => void) | null }[] => {
    const retry = () => model.retry(timelineWidth.peek());
    const opened = model.header.value !== null;
    const [failure, blurred] = [model.failure.value, model.windowFailure.value];
    if (!opened && i === 0) return [];
    if (!opened && failure === null)
      return [{ text: `Reading ${nameOf(model)}${sizeOf(model)}…`, retry: null }];
    if (failure !== null) {
      const what = opened ? 'What delayed' : 'The trace of';
      return [{ text: `${what} ${nameOf(model)} could not be read: ${failure}`, retry }];
    }
    if (blurred === null) return [];
    return [{ text: `A finer picture of ${nameOf(model)} could not be read: ${blurred}`, retry }];
  });
  if (!notices.length) return null;
  return (
    <ul class="trace-notices">
      {notices.map(({ text, retry }) => (
        <li key={text} role={retry ? 'alert' : 'status'} aria-busy={retry === null}>
          {retry === null && <span class="trace-busy" aria-hidden="true" />}
          {text}
          {retry && (
            <button type="button" class="trace-inline" onClick={retry}>
              Try again
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
