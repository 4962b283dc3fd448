/** The card of an op. */

import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import { ADDED, MOVED } from '../model/difference_kinds.ts';
import { inputsOf, outputsOf } from '../model/reach.ts';
import { colourMode } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import { Attributes } from './attributes.tsx';
import { Actions, type FactRow, Facts, Neighbours, Title } from './card_parts.tsx';
import { costRows } from './cost_rows.tsx';
import { usePlacementRow } from './placement_row.tsx';
import { SlicesButton } from './slices_button.tsx';

export function OpCard({ session, op }: { session: Session; op: number }) {
  const { model } = session;
  const facts: FactRow[] = [['Op', <b>{safeText(model.opName(op))}</b>]];
  const placed = usePlacementRow(session, op);
  if (placed) facts.push(placed);
  if (model.deviceName(op)) facts.push([placed ? 'Requested' : 'Device', safeText(model.deviceName(op))]);
  if (model.shapeOf(op)) facts.push(['Output', safeText(model.shapeOf(op))]);
  const bytes = model.outputBytes[op]!;
  if (bytes >= 0) facts.push(['Size', memorySize(bytes)]);
  facts.push(...costRows(session, [op]), ...differenceRows(session, op));
  const called = model.header.functions.filter((f) => f.callers.includes(op));
  return (
    <div class="g-card">
      <Title session={session} item={op} kind="Op" />
      <Actions session={session} item={op} />
      <Facts rows={facts} />
      {called.length > 0 && (
        <Neighbours
          session={session}
          title="Calls"
          list={called.map((f) => ({ vertex: f.group, port: 0, control: false }))}
        />
      )}
      <Neighbours session={session} title="Inputs" list={inputsOf(model, op)} />
      <Neighbours session={session} title="Outputs" list={outputsOf(model, op)} />
      <Attributes session={session} op={op} />
      <SlicesButton session={session} item={op} />
    </div>
  );
}

function differenceRows(session: Session, op: number): FactRow[] {
  const { value: shown } = session.comparison.shown;
  if (!shown || colourMode.value !== 'diff') return [];
  const what = shown.what.get(op);
  if (what) return [['Changed', what.map((line) => <div key={line}>{safeText(line, 400)}</div>)]];
  const kind = shown.kind[op];
  if (kind === ADDED) return [['Difference', 'only in this graph']];
  if (kind !== MOVED) return [['Difference', 'none']];
  const from = shown.movedFrom.get(op);
  return [['Moved', from ? `from ${safeText(from)}` : 'with the scope around it']];
}
