/** The card of what is selected: an op, a group, a series, or the graph as a whole. */
import { colourMode } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import { DifferencePanel } from './comparison_panel.tsx';
import { GraphCard } from './graph_card.tsx';
import { GroupCard } from './group_card.tsx';
import { OpCard } from './op_card.tsx';
import { SeriesCard } from './series_card.tsx';

export function Inspector({ session }: { session: Session }) {
  return (
    <>
      <Card session={session} />
      {colourMode.value === 'diff' && <DifferencePanel session={session} />}
    </>
  );
}

function Card({ session }: { session: Session }) {
  const selected = session.selected.value;
  void session.view.value;
  if (selected === null) return <GraphCard session={session} />;
  if (selected >= session.model.total) return <SeriesCard session={session} item={selected} />;
  if (session.model.isGroup(selected)) return <GroupCard session={session} group={selected} />;
  return <OpCard session={session} op={selected} />;
}
