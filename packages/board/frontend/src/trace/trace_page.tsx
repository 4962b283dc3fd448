/** The Trace page: where the time of a step went, by tracks, transfers, critical path and memory. */
import { useEffect } from 'preact/hooks';
import { loaded } from '../state/catalogue.ts';
import { safeText } from '../strings/safe_text.ts';
import { Failed, Notices, Opening } from './panels/loading.tsx';
import { Sidebar } from './panels/sidebar.tsx';
import { KEYS, onKey } from './timeline/keys.ts';
import { TextAlternative } from './timeline/text_alternative.tsx';
import { TimelineView } from './timeline/timeline_view.tsx';
import { Toolbar } from './toolbar/toolbar.tsx';
import './timeline/trace_hook.ts';
import { followPattern, warm } from './state/trace_search.ts';
import { followSelection } from './state/trace_selection.ts';
import {
  chosen,
  followTraces,
  mainTrace,
  readTraces,
  traceName,
  traces,
  tracesFailure,
} from './state/trace_state.ts';

export default function TracePage() {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (onKey(event)) event.preventDefault();
    };
    document.addEventListener('keydown', keys);
    const ends = [followTraces(), followSelection(), followPattern()];
    return () => {
      document.removeEventListener('keydown', keys);
      for (const end of ends) end();
    };
  }, []);
  const model = mainTrace.value;
  const analysed = model !== null && model.summary.value !== null;
  useEffect(() => {
    if (model && analysed) void warm(model.id).catch(() => undefined); // a search reports the failure
  }, [model, analysed]);
  if (traces.value === null && tracesFailure.value !== null) {
    return (
      <Failed retry={() => void readTraces()}>
        <p>The list of traced steps could not be read.</p>
        <p class="faint">{tracesFailure.value}</p>
      </Failed>
    );
  }
  if (!loaded.value || traces.value === null) {
    return (
      <p class="empty" role="status" aria-busy="true">
        Reading the log…
      </p>
    );
  }
  if (!chosen.value || !model) return <NoTraces />;
  const header = model.header.value;
  return (
    <div class="trace-page">
      <h1 class="hidden-for-the-eye">Trace of {safeText(traceName(chosen.value.id), 100)}</h1>
      <Toolbar />
      <Notices />
      <div class="trace-body">
        {!header ? (
          <Opening model={model} />
        ) : header.slices === 0 ? (
          <p class="empty">This trace has no slices: nothing ran, or nothing was timed.</p>
        ) : (
          <TimelineView />
        )}
        <Sidebar />
      </div>
      <TextAlternative />
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
        FileWriter.add_run_metadata; TensorFlow's writer does the same. Traces of PyTorch's profiler
        (*.pt.trace.json), XLA's (*.xplane.pb) and others in Chrome's format (*trace*.json) open here too, if
        they lie in the log folder.
      </p>
    </div>
  );
}
