/** Ops by the names that a comparison of two groups gives them. */
import type { GraphModel } from './graph_model.ts';

/** The op of a name within a group; an op that is named as the group itself keeps its whole name. */
export function opWithin(model: GraphModel, group: number, name: string): number {
  const path = model.path(group);
  const within = model.find(path ? `${path}/${name}` : name);
  return within >= 0 ? within : model.find(name);
}
