/** The graph: its canvas with the keyboard, the tree for screen readers, breadcrumb, legend and minimap. */
import { useEffect, useRef } from 'preact/hooks';
import type { Stage } from '../canvas/stage.ts';
import type { Session } from '../session/session.ts';
import { Breadcrumb } from './breadcrumb.tsx';
import { connectStage } from './connect_stage.ts';
import { fitAll } from './fit_clear.ts';
import { FoldedLegend } from './folded_legend.tsx';
import { onKey } from './graph_keys.ts';
import { exposeGraph } from './graph_probe.ts';
import { GraphTree, itemId } from './graph_tree.tsx';
import { Legend } from './legend.tsx';
import { Minimap, type MinimapHandle } from './minimap.tsx';

export function GraphView({
  session,
  stage,
  focusSearch,
}: {
  session: Session;
  stage: { current: Stage | null };
  focusSearch: () => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const minimap = useRef<MinimapHandle | null>(null);
  const tree = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const focusTree = () => tree.current?.focus({ preventScroll: true });
    const follow = () => minimap.current?.follow();
    const connection = connectStage(canvas.current!, session, focusTree, follow);
    stage.current = connection.stage;
    const unexpose = exposeGraph(session, connection.stage, connection.isAddressed);
    return () => {
      connection.close();
      unexpose();
      stage.current = null;
    };
  }, [session, stage]);

  const key = (event: KeyboardEvent) => {
    const shown = stage.current;
    if (!shown || event.ctrlKey || event.metaKey || event.altKey) return;
    const handled = onKey(event, session, shown, focusSearch);
    if (handled) event.preventDefault();
  };
  const selected = session.selected.value;
  return (
    <div class="graph-stage">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: handles the keys of the tree within */}
      <div class="graph-tree" onKeyDown={key}>
        <canvas ref={canvas} class="graph-canvas" />
        <div
          ref={tree}
          class="hidden-for-the-eye"
          role="tree"
          tabIndex={0}
          aria-label="Graph"
          aria-busy={session.layout.busy.value}
          aria-activedescendant={selected === null ? undefined : itemId(selected)}
        >
          <GraphTree session={session} />
        </div>
      </div>
      <Breadcrumb session={session} stage={stage} />
      <div class="g-corner g-left-corner">
        <FoldedLegend>
          <Legend session={session} />
        </FoldedLegend>
      </div>
      <div class="g-corner g-right-corner">
        <div class="g-zoom-buttons">
          <button type="button" title="Zoom in (+)" onClick={() => stage.current?.zoom(1.4)}>
            +
          </button>
          <button type="button" title="Zoom out (−)" onClick={() => stage.current?.zoom(1 / 1.4)}>
            −
          </button>
          <button type="button" title="Fit (F)" onClick={() => fitAll(session, stage.current)}>
            Fit
          </button>
        </div>
        <Minimap session={session} stage={stage} handle={minimap} />
      </div>
    </div>
  );
}
