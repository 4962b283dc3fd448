/** The worker's side of a pattern search. */
import { messageOf } from '../api/error_message.ts';
import type { PatternReply, PatternRequest } from './pattern_protocol.ts';

const PROGRESS_MS = 25;

/**
 * Serves searches in a worker.
 *
 * Args:
 *   take: keeps the names.
 *   search: throws for an invalid pattern. It calls its second argument before each name.
 */
export function serveSearches<Names, Found>(
  take: (names: Names) => void,
  search: (pattern: string, beforeName: () => void) => Found,
): void {
  const reply = (message: PatternReply<Found>) => postMessage(message);
  self.addEventListener('message', ({ data }: MessageEvent<PatternRequest<Names>>) => {
    if (data.kind === 'names') {
      take(data.names);
      return;
    }
    const { serial, pattern } = data;
    let said = performance.now();
    const beforeName = () => {
      const now = performance.now();
      if (now - said < PROGRESS_MS) return;
      said = now;
      reply({ serial, kind: 'progress' });
    };
    reply({ serial, kind: 'progress' });
    try {
      reply({ serial, kind: 'found', found: search(pattern, beforeName) });
    } catch (error) {
      reply({ serial, kind: 'invalid', text: messageOf(error) });
    }
  });
}
