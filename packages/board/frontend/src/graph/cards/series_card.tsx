/** The card of a series: repeated siblings that are drawn as one. */

import { useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { Session } from '../session/session.ts';
import { Actions, Facts, Title } from './card_parts.tsx';
import { costRows } from './cost_rows.tsx';
import { Bars, histogram } from './share_bars.tsx';
import { SlicesButton } from './slices_button.tsx';

export function SeriesCard({ session, item }: { session: Session; item: number }) {
  const { model } = session;
  const series = model.header.series[item - model.total]!;
  const members = model.members[item - model.total]!;
  const [most, setMost] = useState(30);
  return (
    <div class="g-card">
      <Title
        session={session}
        item={item}
        kind={series.chain ? 'Series, one after the other' : 'Series, side by side'}
      />
      <Actions session={session} item={item} />
      <Facts
        rows={[
          ['Members', count(members.length)],
          ['Ops', count(members.reduce((sum, m) => sum + model.size[m]!, 0))],
          ['Structure', series.varied ? 'not alike: the corner is cut' : 'alike'],
          ...costRows(session, members),
        ]}
      />
      <section>
        <h3>Members</h3>
        <ul class="g-node-links">
          {members.slice(0, most).map((m) => (
            <li key={m}>
              <button type="button" class="g-node-link" onClick={() => session.goTo(m)}>
                <span class="g-node-link-name">
                  <bdi>{safeText(model.labels[m]!)}</bdi>
                </span>
                <span class="g-node-link-more">
                  {model.isGroup(m) ? model.opsText(model.size[m]!) : model.opName(m)}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {members.length > most && (
          <button type="button" class="quiet" onClick={() => setMost(most + 500)}>
            {members.length - most} more
          </button>
        )}
      </section>
      <Bars title="Ops" rows={histogram(session, members, model.op, model.header.strings.ops)} />
      <SlicesButton session={session} item={item} />
    </div>
  );
}
