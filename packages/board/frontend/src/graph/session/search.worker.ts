/** Finds the ops and groups of a graph that match a pattern, best matches first. */
import { serveSearches } from '../../search/pattern_worker.ts';
import { MODULE, MODULE_SUFFIX, OWN_NAME_IS_SCOPE } from '../model/graph_names.ts';
import { bestMatches, type Matches } from './search_order.ts';

/** The model's columns, from which the worker makes full names: sending those would take longer. */
export interface GraphNames {
  labels: string[];
  parent: Int32Array;
  own: Uint8Array;
  root: number;
}

const MOST = 300;

let names: string[] = [];
let firstGroup = 0;

/** Full names of ops, and groups after their parent groups. */
function fullNames({ labels, parent, own, root }: GraphNames): string[] {
  const full = new Array<string>(labels.length).fill('');
  const name = (v: number) => {
    let up = parent[v]!;
    while (own[up]! & MODULE) up = parent[up]!; // names do not contain modules
    if (own[v]! & OWN_NAME_IS_SCOPE) full[v] = full[up]!;
    else full[v] = up === root ? labels[v]! : `${full[up]}/${labels[v]}`;
    if (own[v]! & MODULE) full[v] += MODULE_SUFFIX;
  };
  for (let v = root + 1; v < labels.length; v++) name(v);
  for (let v = 0; v < root; v++) name(v);
  return full;
}

serveSearches<GraphNames, Matches>(
  (sent) => {
    firstGroup = sent.root;
    names = fullNames(sent);
  },
  // Of names that match equally well, groups come first, because readers usually look for them.
  (pattern, beforeName) => bestMatches(names, pattern, firstGroup, MOST, beforeName),
);
