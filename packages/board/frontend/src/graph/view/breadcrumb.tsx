/** The path of the selection, and the state of the layout. */
import { safeText } from '../../strings/safe_text.ts';
import type { Stage } from '../canvas/stage.ts';
import type { Session } from '../session/session.ts';
import { fitAll } from './fit_clear.ts';

export function Breadcrumb({ session, stage }: { session: Session; stage: { current: Stage | null } }) {
  const { model } = session;
  const selected = session.selected.value;
  const vertex = selected === null ? model.root : selected < model.total ? selected : -1;
  const above =
    vertex >= 0
      ? model.ancestors(vertex)
      : [
          ...model.ancestors(model.header.series[selected! - model.total]!.parent),
          model.header.series[selected! - model.total]!.parent,
        ];
  const chain = vertex === model.root ? [model.root] : above;
  const go = (group: number) => {
    if (group === model.root) {
      session.select(null);
      fitAll(session, stage.current);
    } else session.goTo(group);
  };
  return (
    <nav class="g-breadcrumb" aria-label="Where the selection is">
      {chain.map((group) => {
        const name = safeText(group === model.root ? session.entry.title || 'graph' : model.labels[group]!);
        return (
          <span key={group}>
            <button type="button" class="quiet" title={name} onClick={() => go(group)}>
              {name}
            </button>
            <span class="g-slash">/</span>
          </span>
        );
      })}
      {selected !== null && <span class="g-here">{safeText(session.label(selected))}</span>}
      {session.unknown.value && (
        <span class="g-quiet-text" role="status">
          {' '}
          {safeText(session.unknown.value, 120)} is not in this graph
        </span>
      )}
      <LayoutState session={session} />
    </nav>
  );
}

/** That a layout is on its way, and how to leave it; or that it failed. */
function LayoutState({ session }: { session: Session }) {
  const { layout } = session;
  if (layout.failure.value !== null) {
    return (
      <span class="g-layout-failed" role="alert">
        {safeText(layout.failure.value, 200)}{' '}
        <button type="button" onClick={() => layout.retry()}>
          Try again
        </button>
      </span>
    );
  }
  if (!layout.busy.value) return null;
  return (
    <span class="g-quiet-text g-laying-out">
      laying out…
      {session.scene.value && (
        <button type="button" onClick={() => session.cancelLayout()}>
          Cancel
        </button>
      )}
    </span>
  );
}
