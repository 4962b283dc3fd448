/** What the pointer shows of an item: its full name, its op, the shapes of its outputs, its device. */
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { GraphModel } from '../model/graph_model.ts';

interface Named {
  model: GraphModel;
  nameOfItem(item: number): string;
}

export function hoverText(session: Named, item: number): string {
  const { model } = session;
  const lines = [safeText(session.nameOfItem(item), 500)];
  if (item >= model.total) {
    const members = model.members[item - model.total]!;
    const ops = members.reduce((sum, v) => sum + model.size[v]!, 0);
    lines.push(
      ops === members.length
        ? `${model.opsText(ops)} alike`
        : `×${count(members.length)}, ${model.opsText(ops)}`,
    );
  } else if (model.isGroup(item)) lines.push(model.opsText(model.size[item]!));
  else {
    lines.push(safeText(model.opName(item), 200));
    const shape = model.shapeOf(item);
    if (shape !== '') lines.push(`output ${safeText(shape, 300)}`);
    const device = model.deviceName(item);
    if (device !== '') lines.push(safeText(device, 200));
  }
  return lines.join('\n');
}
