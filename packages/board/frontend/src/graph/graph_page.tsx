/** The Graph page. */
import './graph.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { latest } from '../api/live.ts';
import { Drawer } from '../controls/drawer.tsx';
import { tags } from '../state/catalogue.ts';
import { isSmall } from '../state/small_screen.ts';
import { safeText } from '../strings/safe_text.ts';
import type { Stage } from './canvas/stage.ts';
import { Inspector } from './cards/inspector.tsx';
import { exportNote } from './export/export_graph.ts';
import { graphName } from './session/address.ts';
import {
  current,
  graphs,
  listFailure,
  loadGraphs,
  unreadable,
  upload,
  uploadFailure,
} from './session/graph_list.ts';
import { followAddress, opening, read, session } from './session/open_graph.ts';
import type { Session } from './session/session.ts';
import { Toolbar } from './toolbar/toolbar.tsx';
import { detailsOpen } from './view/details_drawer.ts';
import { GraphView } from './view/graph_view.tsx';

const KERAS_ADVICE = `graph = tf.function(model).get_concrete_function(tf.TensorSpec(x[:1].shape, x.dtype)).graph
with tf.summary.create_file_writer(log_dir).as_default():
    tf.summary.graph(graph)`;

export default function GraphPage() {
  const stage = useRef<Stage | null>(null);
  const searchBox = useRef<HTMLInputElement | null>(null);
  const [dropping, setDropping] = useState(false);
  const change = latest.value;
  // New runs may bring graphs.
  useEffect(() => void loadGraphs(), [change?.runs, change?.tags]);
  useEffect(() => followAddress(), []);
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
      {listFailure.value && (
        <p class="graph-failure" role="alert">
          The graphs could not be listed: {listFailure.value}{' '}
          <button type="button" onClick={() => void loadGraphs()}>
            Try again
          </button>
        </p>
      )}
      {[...unreadable.value.values()].map(({ entry, failure }) => (
        <p key={entry.key} class="graph-failure" role="alert">
          <bdi>{safeText(entry.title)}</bdi> could not be read: {safeText(failure)}
        </p>
      ))}
      <Message text={uploadFailure} role="alert" />
      <Message text={exportNote} role="status" />
      <div class="graph-body">
        {shown ? (
          <>
            <GraphView
              key={shown.entry.key}
              session={shown}
              stage={stage}
              focusSearch={() => searchBox.current?.focus()}
            />
            <Details session={shown} />
          </>
        ) : (
          <Nothing />
        )}
      </div>
    </div>
  );
}

/** Beside the graph, or over it on a small screen. */
function Details({ session }: { session: Session }) {
  const inside = (
    <aside class="graph-inspector" aria-label="Inspector">
      <Inspector session={session} />
    </aside>
  );
  if (!isSmall.value) return inside;
  if (!detailsOpen.value) return null;
  return (
    <Drawer side="right" label="Details" close={() => (detailsOpen.value = false)}>
      {inside}
    </Drawer>
  );
}

function Message({ text, role }: { text: { value: string | null }; role: 'alert' | 'status' }) {
  if (!text.value) return null;
  return (
    <p class={role === 'alert' ? 'graph-failure' : 'graph-note'} role={role}>
      {safeText(text.value)}{' '}
      <button
        type="button"
        class="quiet"
        onClick={() => {
          text.value = '';
        }}
      >
        Dismiss
      </button>
    </p>
  );
}

/** Shown in place of the graph while it is being read, if reading failed, or if there is none. */
function Nothing() {
  const { value: on } = opening;
  const { value: all } = graphs;
  if (on?.failure) {
    return (
      <div class="empty" role="alert">
        <p>
          <bdi>{safeText(on.entry.title)}</bdi> could not be read: {safeText(on.failure)}
        </p>
        <button type="button" onClick={() => void read(on.entry)}>
          Try again
        </button>
      </div>
    );
  }
  if (on || (all === null && !listFailure.value)) return <p class="empty">Reading the graph…</p>;
  if (graphName.value !== '' && !current.value) {
    return (
      <p class="empty" role="status">
        The graph <bdi>{safeText(graphName.value, 200)}</bdi> is not in these logs
        {latest.value?.loading ? ' so far; they are still being read.' : '.'}
        {all && all.length > 0 ? ' Others can be chosen above.' : ''}
      </p>
    );
  }
  if (!all) return null;
  if (isKerasLog()) return <NoKerasModel />;
  return (
    <p class="empty">
      No graph in these logs. Write one with a FileWriter, or open a .pb, .pbtxt, SavedModel or .meta file
      here.
    </p>
  );
}

/** Whether the TensorBoard callback of Keras wrote these logs. */
function isKerasLog(): boolean {
  return tags.value.some((tag) => tag.name === 'epoch_loss' || tag.name === 'epoch_learning_rate');
}

function NoKerasModel() {
  return (
    <div class="empty graph-advice">
      <p>
        Keras wrote no model to these logs. Its callback writes functional and sequential models, with{' '}
        <code>write_graph=True</code>, but no subclassed ones. The graph of any model, here as ops:
      </p>
      <pre>{KERAS_ADVICE}</pre>
    </div>
  );
}
