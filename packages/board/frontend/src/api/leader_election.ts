/** Elects one of a browser's visible pages as the leader, which does a work for all of them. */

/**
 * Calls `lead` when this page becomes the leader, and aborts its signal when the page is hidden or left; the next
 * visible page then becomes the leader. Without locks (pages that came by plain http from another machine) every
 * visible page leads.
 */
export function electLeader(name: string, lead: (until: AbortSignal) => void): void {
  let candidacy: AbortController | null = null;

  const enter = () => {
    if (document.hidden || candidacy) return;
    const current = new AbortController();
    candidacy = current;
    const work = () =>
      new Promise<void>((done) => {
        if (current.signal.aborted) return done();
        current.signal.addEventListener('abort', () => done());
        lead(current.signal);
      });
    if (!canBroadcast() || !navigator.locks) {
      void work();
      return;
    }
    navigator.locks.request(name, { signal: current.signal }, work).catch(() => {
      if (!current.signal.aborted) void work(); // locks are forbidden here
    });
  };
  const leave = () => {
    candidacy?.abort();
    candidacy = null;
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : enter()));
  addEventListener('pagehide', leave);
  addEventListener('pageshow', enter);
  enter();
}

/** Whether pages can send each other messages. */
export function canBroadcast(): boolean {
  return typeof BroadcastChannel === 'function';
}
