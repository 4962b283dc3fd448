/** How a group differs from another group of its family. */

import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import { opWithin } from '../model/op_within.ts';
import type { DiffReply } from '../session/comparison.ts';
import type { Session } from '../session/session.ts';
import { Rows } from './comparison_panel.tsx';

export function StructuralDiff({
  session,
  a,
  b,
  text,
}: {
  session: Session;
  a: number;
  b: number;
  text: string;
}) {
  const { model } = session;
  const [open, setOpen] = useState(false);
  const [diff, setDiff] = useState<DiffReply | null>(null);
  const [wrong, setWrong] = useState('');
  useEffect(() => {
    if (!open) return;
    const controller = new AbortController();
    setDiff(null);
    setWrong('');
    const sides = { a: session.entry.id, group_a: a, group_b: b };
    getJson<DiffReply>('graph/diff', sides, controller.signal).then(setDiff, (error) => {
      if (!controller.signal.aborted) setWrong(messageOf(error));
    });
    return () => controller.abort();
  }, [open, session, a, b]);
  const goTo = (group: number, name: string) => {
    const v = opWithin(model, group, name);
    if (v >= 0) session.goTo(v);
  };
  const rows = (names: string[], group: number) =>
    names.map((name) => ({ key: name, name, go: () => goTo(group, name) }));
  return (
    <div class="g-structural-diff">
      <button type="button" onClick={() => setOpen(!open)} aria-expanded={open}>
        {safeText(text)} {open ? '▴' : '▾'}
      </button>
      {open && wrong && <p class="g-quiet-text">{wrong}</p>}
      {open && diff && (
        <div>
          <p class="g-quiet-text">{count(diff.same)} ops are the same in both.</p>
          <Rows title="Only here" kind="added" total={diff.counts.added} rows={rows(diff.added, b)} />
          <Rows
            title={`Only in ${model.labels[a]}`}
            kind="removed"
            total={diff.counts.removed}
            rows={rows(diff.removed, a)}
          />
          <Rows
            title="Changed"
            kind="changed"
            total={diff.counts.changed}
            rows={diff.changed.map(({ name, what }) => ({
              key: name,
              name,
              lines: what,
              go: () => goTo(b, name),
            }))}
          />
        </div>
      )}
    </div>
  );
}
