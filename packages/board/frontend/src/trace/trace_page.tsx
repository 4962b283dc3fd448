/** Where the time of a step went: lanes, transfers, critical path, memory (the EEG). */
import { useEffect } from 'preact/hooks';
import { loaded } from '../state/catalogue.ts';
import { KEYS, onKey } from './keys.ts';
import { LanesView } from './lanes_view.tsx';
import { Mirror } from './mirror.tsx';
import { Sidebar } from './sidebar.tsx';
import { Toolbar } from './toolbar.tsx';
import './trace_hook.ts';
import { chosen, followTraces, mainTrace, traces } from './trace_state.ts';

export default function TracePage() {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (onKey(event)) event.preventDefault();
    };
    document.addEventListener('keydown', keys);
    const end = followTraces();
    return () => {
      document.removeEventListener('keydown', keys);
      end();
    };
  }, []);
  if (!loaded.value || traces.value === null) return <p class="empty">Reading the log…</p>;
  if (!chosen.value) return <NoTraces />;
  const model = mainTrace.value;
  const failure = model?.failure.value;
  return (
    <div class="trace-page">
      <h1 class="hidden-for-the-eye">Trace of step {chosen.value.step}</h1>
      <Toolbar />
      <div class="trace-body">
        {failure && !model?.header.value ? (
          <p class="empty" role="alert">
            {failure}
          </p>
        ) : model?.header.value?.slices === 0 ? (
          <p class="empty">This trace has no slices: nothing ran, or nothing was timed.</p>
        ) : (
          <LanesView />
        )}
        <Sidebar />
      </div>
      <Mirror />
      <footer class="trace-foot">
        <span>wheel zooms, drag pans, Shift+drag selects an area</span>
        {KEYS.map(([key, what]) => (
          <span key={key}>
            <kbd>{key}</kbd> {what}
          </span>
        ))}
      </footer>
    </div>
  );
}

function NoTraces() {
  return (
    <div class="empty">
      <p>No step has been traced in this log.</p>
      <p class="faint">
        Run a step with RunOptions(trace_level=FULL_TRACE) and give its RunMetadata to
        FileWriter.add_run_metadata; TensorFlow's writer does the same.
      </p>
    </div>
  );
}
