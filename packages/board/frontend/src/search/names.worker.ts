/** Finds the names that match a pattern, by their indices in ascending order. */
import { serveSearches } from './pattern_worker.ts';

let names: string[] = [];

serveSearches<string[], Uint32Array>(
  (sent) => {
    names = sent;
  },
  (pattern, beforeName) => {
    const test = new RegExp(pattern, 'i');
    const found = new Uint32Array(names.length);
    let n = 0;
    for (let i = 0; i < names.length; i++) {
      beforeName();
      if (test.test(names[i]!)) found[n++] = i;
    }
    return found.slice(0, n);
  },
);
