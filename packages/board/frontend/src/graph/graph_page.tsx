/** The Graph page. */
import './graph.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { latest } from '../api/live.ts';
import type { Stage } from './canvas/stage.ts';
import { GraphView } from './graph_view.tsx';
import { Inspector } from './inspector.tsx';
import { current, failure, graphs, loadGraphs, openGraph, session } from './session.ts';
import { Toolbar, upload } from './toolbar.tsx';

export default function GraphPage() {
  const stage = useRef<Stage | null>(null);
  const searchBox = useRef<HTMLInputElement | null>(null);
  const [dropping, setDropping] = useState(false);
  const change = latest.value;
  useEffect(() => {
    // New runs may bring graphs; while there are some, the list waits until it is asked for again.
    if (graphs.peek() === null || graphs.peek()!.length === 0 || change) void loadGraphs();
  }, [change?.runs, change?.tags]);
  const entry = current.value;
  useEffect(() => {
    if (entry && session.peek()?.entry.id !== entry.id) void openGraph(entry);
  }, [entry?.id]);
  useEffect(
    () => () => {
      session.peek()?.close();
      session.value = null;
    },
    [],
  );
  const shown = session.value;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: takes files that are dropped; a button does the same
    <div
      class={dropping ? 'graph-page dropping' : 'graph-page'}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={(event) => {
        if (event.target === event.currentTarget) setDropping(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        const file = event.dataTransfer?.files[0];
        if (file) void upload(file);
      }}
    >
      <Toolbar session={shown} stage={stage} searchBox={searchBox} />
      {failure.value && (
        <p class="graph-failure" role="alert">
          {failure.value}{' '}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              failure.value = null;
            }}
          >
            Dismiss
          </button>
        </p>
      )}
      <div class="graph-body">
        {shown ? (
          <>
            <GraphView
              key={shown.entry.id}
              session={shown}
              stage={stage}
              focusSearch={() => searchBox.current?.focus()}
            />
            <aside class="graph-inspector" aria-label="Inspector">
              <Inspector session={shown} />
            </aside>
          </>
        ) : (
          <p class="empty">
            {graphs.value === null || entry
              ? 'Reading the graph…'
              : 'No graph in these logs. Write one with a FileWriter, or open a .pb, .pbtxt, SavedModel or .meta file here.'}
          </p>
        )}
      </div>
    </div>
  );
}
