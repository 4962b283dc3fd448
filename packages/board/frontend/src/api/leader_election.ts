/** Pages of one browser take turns: one of those that are seen does a work for all of them. */

/**
 * Calls `lead` when the turn has come, and aborts its signal when the page is hidden or left; the next page
 * that is seen then has its turn. Without locks (pages that came by plain http from another machine) every
 * page that is seen leads.
 */
export function takeTurns(name: string, lead: (until: AbortSignal) => void): void {
  let turn: AbortController | null = null;

  const enter = () => {
    if (document.hidden || turn) return;
    const mine = new AbortController();
    turn = mine;
    const work = () =>
      new Promise<void>((done) => {
        if (mine.signal.aborted) return done();
        mine.signal.addEventListener('abort', () => done());
        lead(mine.signal);
      });
    if (!canTell() || !navigator.locks) {
      void work();
      return;
    }
    navigator.locks.request(name, { signal: mine.signal }, work).catch(() => {
      if (!mine.signal.aborted) void work(); // locks are forbidden here
    });
  };
  const leave = () => {
    turn?.abort();
    turn = null;
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : enter()));
  addEventListener('pagehide', leave);
  addEventListener('pageshow', enter);
  enter();
}

/** Whether pages can tell one another what they hear. */
export function canTell(): boolean {
  return typeof BroadcastChannel === 'function';
}
