/** Matches a pattern against all names; the page ends this worker when a pattern takes too long. */
import { messageOf } from '../../api/error_message.ts';
import { MODULE, MODULE_SUFFIX, OWN_NAME_IS_SCOPE } from '../model/graph_names.ts';
import { bestMatches } from './search_order.ts';

export type SearchRequest =
  | { kind: 'names'; labels: string[]; parent: Int32Array; own: Uint8Array; root: number }
  | { kind: 'find'; serial: number; pattern: string; most: number };

export interface SearchReply {
  serial: number;
  /** The worker begins with the pattern; the reply follows. */
  begun?: boolean;
  found: number[];
  count: number;
  error?: string;
}

let names: string[] = [];
let firstGroup = 0;

/** Full names of ops, and groups after their parent groups. */
function fullNames(labels: string[], parent: Int32Array, own: Uint8Array, root: number): string[] {
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

self.addEventListener('message', ({ data }: MessageEvent<SearchRequest>) => {
  if (data.kind === 'names') {
    firstGroup = data.root;
    names = fullNames(data.labels, data.parent, data.own, data.root);
    return;
  }
  postMessage({ serial: data.serial, begun: true, found: [], count: 0 } satisfies SearchReply);
  const reply: SearchReply = { serial: data.serial, found: [], count: 0 };
  try {
    // Of names that match equally well, groups come first, because readers usually look for them.
    Object.assign(reply, bestMatches(names, data.pattern, firstGroup, data.most));
  } catch (error) {
    reply.error = messageOf(error);
  }
  postMessage(reply);
});
