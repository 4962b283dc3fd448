/** Ops by the names that a comparison of two groups gives them. */
import type { GraphModel } from './graph_model.ts';

/** The op with a name relative to a group; an op with the name of the group keeps its full name. */
export function opWithin(model: GraphModel, group: number, name: string): number {
  const path = model.path(group);
  const within = model.find(path ? `${path}/${name}` : name);
  return within >= 0 ? within : model.find(name);
}
