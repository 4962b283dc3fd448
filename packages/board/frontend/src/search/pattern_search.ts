/** Searches for patterns in a worker: one at a time, the newest next, and a stuck one ends with its worker. */
import type { PatternReply, PatternRequest } from './pattern_protocol.ts';

/** A single name that takes so long is one whose matching does not end. */
const STUCK_MS = 200;
const MOST_MS = 2000;
const LATE_MS = 20;
const MOST_LATE_TIMERS = 20;

export type Outcome<Found> =
  | { kind: 'found'; found: Found }
  /** `invalid`: the pattern is none. `slow`: it was stopped. `failed`: the worker was lost. */
  | { kind: 'invalid' | 'slow' | 'failed'; text: string };

/** The part of Worker that is used; tests replace it. */
export interface PatternWorker {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
}

interface Query<Found> {
  serial: number;
  pattern: string;
  resolve: (outcome: Outcome<Found> | null) => void;
}

export class PatternSearch<Names, Found> {
  private readonly names: Names;
  private readonly start: (failed: (why: string) => void) => PatternWorker;
  private worker: PatternWorker | null = null;
  private serial = 0;
  private running: Query<Found> | null = null;
  private waiting: Query<Found> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private began = 0;
  private lateTimers = 0;

  constructor(names: Names, start: (failed: (why: string) => void) => PatternWorker) {
    this.names = names;
    this.start = start;
  }

  /** Starts the worker and gives it the names, so that the first search is as fast as the next. */
  warm(): void {
    if (this.worker) return;
    const worker = this.start((why) => {
      if (worker === this.worker) this.stop('failed', why);
    });
    this.worker = worker;
    worker.onmessage = ({ data }: MessageEvent<PatternReply<Found>>) => {
      if (worker === this.worker && data.serial === this.running?.serial) this.received(data);
    };
    worker.postMessage({ kind: 'names', names: this.names } satisfies PatternRequest<Names>);
  }

  /** Returns: the outcome of a pattern; null when another pattern came before the reply. */
  find(pattern: string): Promise<Outcome<Found> | null> {
    return new Promise((resolve) => {
      this.waiting?.resolve(null);
      this.waiting = { serial: ++this.serial, pattern, resolve };
      if (!this.running) this.next();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.running?.resolve(null);
    this.waiting?.resolve(null);
    this.running = null;
    this.waiting = null;
    this.worker?.terminate();
    this.worker = null;
  }

  private next(): void {
    const query = this.waiting;
    if (!query) return;
    this.waiting = null;
    this.warm();
    this.running = query;
    // The time starts with the first reply: the worker may still be busy with the names.
    this.began = 0;
    this.lateTimers = 0;
    const { serial, pattern } = query;
    this.worker!.postMessage({ kind: 'find', serial, pattern } satisfies PatternRequest<Names>);
  }

  private received(reply: PatternReply<Found>): void {
    if (reply.kind === 'progress') {
      this.began ||= performance.now();
      if (performance.now() - this.began > MOST_MS) this.stopSlow();
      else this.watch();
    } else if (reply.kind === 'found') this.finish({ kind: 'found', found: reply.found });
    else this.finish({ kind: 'invalid', text: reply.text });
  }

  private watch(): void {
    clearTimeout(this.timer);
    const due = performance.now() + STUCK_MS;
    this.timer = setTimeout(() => {
      // A late timer tells of a busy page or machine, where the worker's replies are late too.
      const late = performance.now() - due > LATE_MS;
      if (late && this.lateTimers++ < MOST_LATE_TIMERS) this.watch();
      else this.stopSlow();
    }, STUCK_MS);
  }

  private stopSlow(): void {
    this.stop('slow', 'This pattern takes too long; it was stopped.');
  }

  private stop(kind: 'slow' | 'failed', text: string): void {
    this.worker?.terminate();
    this.worker = null;
    this.finish({ kind, text });
  }

  private finish(outcome: Outcome<Found>): void {
    const { running } = this;
    this.running = null;
    clearTimeout(this.timer);
    running?.resolve(this.waiting ? null : outcome);
    this.next();
  }
}
