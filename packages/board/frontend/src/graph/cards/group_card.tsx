/** The card of a group. */

import { count } from '../../units/numbers.ts';
import { colourMode } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import { Actions, type FactRow, Facts, Neighbours, Title } from './card_parts.tsx';
import { costRows } from './cost_rows.tsx';
import { FamilySection } from './family_section.tsx';
import { Bars, histogram } from './share_bars.tsx';
import { SlicesButton } from './slices_button.tsx';

export function GroupCard({ session, group }: { session: Session; group: number }) {
  const { model } = session;
  const template = model.header.templates[model.template[group]!];
  const family = model.header.families[model.family[group]!];
  const facts: FactRow[] = [
    ['Ops', count(model.size[group]!)],
    ['Children', count(model.children(group).length)],
    ...costRows(session, [group]),
    ...differenceRow(session, group),
  ];
  return (
    <div class="g-card">
      <Title session={session} item={group} kind={model.isPseudo(group) ? 'Function' : 'Group'} />
      <Actions session={session} item={group} />
      <Facts rows={facts} />
      {model.isPseudo(group) && <Callers session={session} group={group} />}
      {family && <FamilySection session={session} group={group} />}
      {!family && template && template.groups <= 1 && (
        <p class="g-quiet-text">No other group has this structure.</p>
      )}
      <Bars title="Ops" rows={histogram(session, [group], model.op, model.header.strings.ops)} />
      <Bars
        title="Devices"
        fromEnd
        rows={histogram(session, [group], model.device, model.header.strings.devices)}
      />
      <SlicesButton session={session} item={group} />
    </div>
  );
}

/** The ops that call a function of the library. */
function Callers({ session, group }: { session: Session; group: number }) {
  const { model } = session;
  const known = model.header.functions.find((f) => f.group === group);
  if (!known) return null;
  return (
    <Neighbours
      session={session}
      title="Called by"
      list={known.callers.map((vertex) => ({ vertex, port: 0, control: false }))}
    />
  );
}

/** How many ops below differ from the compared graph. */
function differenceRow(session: Session, group: number): FactRow[] {
  const { value: shown } = session.comparison.shown;
  if (!shown || colourMode.value !== 'diff') return [];
  const g = group - session.model.ops;
  const parts = (['added', 'removed', 'changed', 'moved'] as const)
    .filter((name) => shown.below[name][g]! > 0)
    .map((name) => `${count(shown.below[name][g]!)} ${name}`);
  return [['Difference', parts.length > 0 ? parts.join(', ') : 'none']];
}
