/** Which kinds of op are not shown. */

import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { Session } from '../session/session.ts';
import { opHidden } from '../session/view_edits.ts';
import { Popover } from './popover.tsx';

export function HideOps({ session }: { session: Session }) {
  const { model } = session;
  const { hidden } = session.view.value;
  const counts = new Map<number, number>();
  for (let v = 0; v < model.ops; v++) counts.set(model.op[v]!, (counts.get(model.op[v]!) ?? 0) + 1);
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  return (
    <Popover label={hidden.size > 0 ? `Hidden: ${hidden.size}` : 'Hide ops'}>
      <div class="g-op-kinds">
        {rows.map(([op, n]) => (
          <label key={op} class="g-menu-link">
            <input
              type="checkbox"
              checked={hidden.has(op)}
              onChange={(event) =>
                session.apply(opHidden(session.view.peek(), op, event.currentTarget.checked))
              }
            />{' '}
            {safeText(model.header.strings.ops[op] ?? '')} <span class="g-node-link-more">{count(n)}</span>
          </label>
        ))}
      </div>
    </Popover>
  );
}
