/** Matches patterns against the names of a trace; the page ends this worker when one takes too long. */
import { messageOf } from '../../api/error_message.ts';

let names: string[] = [];

self.addEventListener('message', ({ data }: MessageEvent<{ names?: string[]; pattern?: string }>) => {
  if (data.names) {
    names = data.names;
    postMessage({ ready: true });
    return;
  }
  try {
    const pattern = new RegExp(data.pattern ?? '', 'i');
    const found = new Uint32Array(names.length);
    let n = 0;
    for (let i = 0; i < names.length; i++) if (pattern.test(names[i]!)) found[n++] = i;
    postMessage({ found: found.slice(0, n) });
  } catch (error) {
    postMessage({ error: messageOf(error) });
  }
});
