/** The components that the cards of ops, groups, series and graphs share. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import type { Neighbour } from '../model/reach.ts';
import { isAuxiliary, isOpen, itemOf } from '../model/view_state.ts';
import { tracing } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import { grouped, movedToAuxiliary } from '../session/view_edits.ts';

const MOST_ROWS = 12;

export type FactRow = [string, ComponentChildren];

export function Title({ session, item, kind }: { session: Session; item: number; kind: string }) {
  const name = session.nameOfItem(item);
  const at = name.lastIndexOf('/');
  return (
    <header class="g-card-title">
      <div class="g-card-kind">{kind}</div>
      <h2 title={safeText(name)}>
        {at >= 0 && <span class="g-card-path">{safeText(name.slice(0, at + 1))}</span>}
        <wbr />
        {safeText(name.slice(at + 1))}
      </h2>
    </header>
  );
}

export function Actions({ session, item }: { session: Session; item: number }) {
  const { model } = session;
  const view = session.view.value;
  const auxiliary = isAuxiliary(model, view, item);
  const series = item < model.total ? model.series[item]! : -1;
  const unfolded = series >= 0 && itemOf(model, view, item) === item;
  const open = isOpen(model, view, item);
  return (
    <div class="g-card-actions">
      {(model.isGroup(item) || item >= model.total) && (
        <button type="button" onClick={() => session.toggle(item)}>
          {item >= model.total ? 'Show all' : open ? 'Close' : 'Open'}
        </button>
      )}
      {item >= model.total && (
        <button type="button" onClick={() => session.toggle(item, true)}>
          Show one
        </button>
      )}
      {unfolded && (
        <button type="button" onClick={() => session.apply(grouped(model, session.view.peek(), series))}>
          Group {safeText(model.header.series[series]!.pattern)}
        </button>
      )}
      <button
        type="button"
        onClick={() => session.apply(movedToAuxiliary(session.view.peek(), item, !auxiliary))}
      >
        {auxiliary ? 'Move to the main graph' : 'Move to the auxiliary nodes'}
      </button>
      <label class="g-card-reach">
        Trace{' '}
        <select
          value={tracing.value}
          onChange={(event) => {
            tracing.value = event.currentTarget.value as typeof tracing.value;
          }}
        >
          <option value="none">nothing</option>
          <option value="inputs">its inputs</option>
          <option value="outputs">what it feeds</option>
          <option value="both">both</option>
        </select>
      </label>
    </div>
  );
}

export function Facts({ rows }: { rows: FactRow[] }) {
  return (
    <dl class="g-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Neighbours({ session, title, list }: { session: Session; title: string; list: Neighbour[] }) {
  const { model } = session;
  const [most, setMost] = useState(MOST_ROWS);
  if (list.length === 0) {
    return (
      <section>
        <h3>{title}</h3>
        <p class="g-quiet-text">none</p>
      </section>
    );
  }
  return (
    <section>
      <h3>
        {title} <span class="count">{list.length}</span>
      </h3>
      <ul class="g-node-links">
        {list.slice(0, most).map((n, i) => (
          <li key={`${n.vertex}/${n.port}/${i}`}>
            <button type="button" class="g-node-link" onClick={() => session.goTo(n.vertex)}>
              <span class={n.control ? 'g-port control' : 'g-port'}>{n.control ? '^' : n.port}</span>
              <span class="g-node-link-name">
                <bdi>{safeText(model.path(n.vertex))}</bdi>
              </span>
              <span class="g-node-link-more">
                {n.control ? 'control' : model.shortShape(n.vertex) || model.opName(n.vertex)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {list.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(most + 100)}>
          {list.length - most} more
        </button>
      )}
    </section>
  );
}
