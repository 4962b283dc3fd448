/** The differences between the shown graph and another one, each with a link to its node. */

import { useState } from 'preact/hooks';
import { selectedNode } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import { colourMode, otherName } from '../session/address.ts';
import type { ShownDifference } from '../session/comparison.ts';
import { chooseGraph } from '../session/graph_list.ts';
import type { Session } from '../session/session.ts';

const FIRST = 8;
const MORE = 200;

interface Row {
  key: string;
  name: string;
  more?: string;
  /** Lines below the name. */
  lines?: string[];
  go: () => void;
}

export function DifferencePanel({ session }: { session: Session }) {
  const { value: shown } = session.comparison.shown;
  if (!shown) {
    return (
      <section class="g-card g-difference" aria-label="Difference">
        <h3>Difference</h3>
        <p class="g-quiet-text" role="status">
          {session.comparison.message.value}
        </p>
      </section>
    );
  }
  const { reply, other } = shown;
  const { counts } = reply;
  const all = counts.added + counts.removed + counts.changed + counts.moved;
  return (
    <section class="g-card g-difference" aria-label="Difference">
      <h3>
        Difference from <bdi>{safeText(other.title, 80)}</bdi>
      </h3>
      <p class="g-quiet-text">
        {all === 0 ? 'The two graphs are the same.' : `${count(reply.same)} ops are the same in both.`}
      </p>
      <Rows
        title="Changed"
        kind="changed"
        total={counts.changed}
        rows={reply.changed.map(({ name, vertex, what }) => ({
          key: name,
          name,
          lines: what,
          go: () => session.goTo(vertex),
        }))}
      />
      <Rows
        title="Added"
        kind="added"
        total={counts.added}
        rows={reply.added.map((name, i) => ({
          key: name,
          name,
          more: session.model.opName(reply.added_vertices[i]!),
          go: () => session.goTo(reply.added_vertices[i]!),
        }))}
      />
      <Rows
        title="Removed"
        kind="removed"
        total={counts.removed}
        rows={reply.removed.map((name) => ({
          key: name,
          name,
          more: '↗',
          go: () => showRemoved(session, shown, name),
        }))}
      />
      <Rows
        title="Moved"
        kind="moved"
        total={counts.moved}
        unit="ops"
        rows={reply.moved.map(({ from, to, vertex }) => ({
          key: to,
          name: to,
          lines: [`was ${from}`],
          go: () => session.goTo(vertex),
        }))}
      />
    </section>
  );
}

/** Removed nodes exist only in the other graph; the button shows it, compared with this one. */
function showRemoved(session: Session, shown: ShownDifference, name: string): void {
  const own = session.entry.key;
  chooseGraph(shown.other);
  otherName.value = own;
  colourMode.value = 'diff';
  selectedNode.value = name;
}

export function Rows({
  title,
  kind,
  total,
  rows,
  unit = '',
}: {
  title: string;
  kind: string;
  total: number;
  rows: Row[];
  unit?: string;
}) {
  const [most, setMost] = useState(FIRST);
  if (total === 0 && rows.length === 0) return null;
  return (
    <>
      <h4 class={`g-${kind}`}>
        {title}{' '}
        <span class="count">
          {count(total)} {unit}
        </span>
      </h4>
      <ul class="g-node-links" aria-label={title}>
        {rows.slice(0, most).map((row) => (
          <li key={row.key}>
            <button type="button" class="g-node-link" onClick={row.go}>
              <span class="g-node-link-name">
                <bdi>{safeText(row.name)}</bdi>
              </span>
              {row.more && <span class="g-node-link-more">{safeText(row.more)}</span>}
            </button>
            {row.lines?.map((line) => (
              <p class="g-diff-line" key={line}>
                {safeText(line, 400)}
              </p>
            ))}
          </li>
        ))}
      </ul>
      {rows.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(most + MORE)}>
          {count(rows.length - most)} more
        </button>
      )}
      {rows.length <= most && total > rows.length && unit === '' && (
        <p class="g-quiet-text">The list ends here; {count(total - rows.length)} more differ.</p>
      )}
    </>
  );
}
