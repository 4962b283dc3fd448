/** The card of the graph as a whole. */

import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { GraphHeader } from '../model/graph_model.ts';
import type { Session } from '../session/session.ts';
import { Facts } from './card_parts.tsx';
import { Bars, histogram } from './share_bars.tsx';

export function GraphCard({ session }: { session: Session }) {
  const { model, entry } = session;
  const functions = model.header.functions ?? [];
  return (
    <div class="g-card">
      <header class="g-card-title">
        <div class="g-card-kind">Graph</div>
        <h2>{safeText(entry.title)}</h2>
      </header>
      <Facts
        rows={[
          [entry.kind === 'keras_model' ? 'Layers' : 'Ops', count(model.ops)],
          ['Edges', count(model.edgeSrc.length)],
          ['Groups', count(model.total - model.root - 1)],
          ['Templates', count(model.header.templates.filter((t) => t.groups > 1).length)],
          ['Functions', count(functions.length)],
        ]}
      />
      <Findings title="Problems" rows={model.header.problems.filter((p) => !p.note)} />
      <Findings title="Notes" rows={model.header.problems.filter((p) => p.note)} />
      <Bars title="Ops" rows={histogram(session, [model.root], model.op, model.header.strings.ops)} />
      <Bars
        title="Devices"
        fromEnd
        rows={histogram(session, [model.root], model.device, model.header.strings.devices)}
      />
      <section>
        <h3>Keys</h3>
        <p class="g-quiet-text">
          Arrows walk, <kbd>Enter</kbd> opens and closes, <kbd>Esc</kbd> goes out, <kbd>F</kbd> fits,{' '}
          <kbd>/</kbd> searches, <kbd>+</kbd> <kbd>−</kbd> zoom.
        </p>
      </section>
    </div>
  );
}

function Findings({ title, rows }: { title: string; rows: GraphHeader['problems'] }) {
  if (rows.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul class="g-plain">
        {rows.map(({ kind, count: n, text }) => (
          <li key={kind + text}>
            {safeText(text)}
            {n > 1 && <span class="g-quiet-text"> ×{count(n)}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
