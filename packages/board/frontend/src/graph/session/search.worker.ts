/** Matches a pattern against all names; the page ends this worker when a pattern takes too long. */
import { messageOf } from '../../api/error_message.ts';

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
    const up = parent[v]!;
    if (own[v]! & 1) full[v] = full[up]!;
    else full[v] = up === root ? labels[v]! : `${full[up]}/${labels[v]}`;
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
    const pattern = new RegExp(data.pattern, 'i');
    // Groups come first, because readers usually look for them when a word matches both.
    for (let i = 0; i < names.length; i++) {
      const v = (i + firstGroup) % names.length;
      if (names[v] === '' || !pattern.test(names[v]!)) continue;
      reply.count++;
      if (reply.found.length < data.most) reply.found.push(v);
    }
  } catch (error) {
    reply.error = messageOf(error);
  }
  postMessage(reply);
});
