/** Search by pattern, in a worker that is ended when it takes too long. */
import type { GraphModel } from '../model/graph_model.ts';
import type { SearchReply, SearchRequest } from './search.worker.ts';

const LIMIT_MS = 200;
const MOST = 300;

export type Outcome =
  | { kind: 'found'; found: number[]; count: number; milliseconds: number }
  | { kind: 'error'; text: string; milliseconds: number };

interface Query {
  serial: number;
  pattern: string;
  resolve: (outcome: Outcome | null) => void;
}

export class Search {
  private readonly model: GraphModel;
  private readonly start: (failed: (why: string) => void) => Worker;
  private worker: Worker | null = null;
  private serial = 0;
  private running: (Query & { since: number; timer: ReturnType<typeof setTimeout> | undefined }) | null =
    null;
  private waiting: Query | null = null;

  constructor(model: GraphModel, start: (failed: (why: string) => void) => Worker) {
    this.model = model;
    this.start = start;
  }

  /** Starts the worker and gives it the names, so that the first search is as fast as the next. */
  warm(): void {
    if (this.worker) return;
    const worker = this.start((why) => {
      if (worker === this.worker) this.stop(why);
    });
    this.worker = worker;
    worker.addEventListener('message', ({ data }: MessageEvent<SearchReply>) => {
      if (worker === this.worker) this.received(data);
    });
    const { labels, parent, flags, root } = this.model;
    worker.postMessage({ kind: 'names', labels, parent, own: flags, root } satisfies SearchRequest);
  }

  /** The outcome of a pattern; null when another pattern came before the reply. */
  find(pattern: string): Promise<Outcome | null> {
    return new Promise((resolve) => {
      this.waiting?.resolve(null);
      this.waiting = { serial: ++this.serial, pattern, resolve };
      if (!this.running) this.next();
    });
  }

  close(): void {
    clearTimeout(this.running?.timer);
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
    this.running = { ...query, since: 0, timer: undefined };
    const { serial, pattern } = query;
    this.worker!.postMessage({ kind: 'find', serial, pattern, most: MOST } satisfies SearchRequest);
  }

  private received(data: SearchReply): void {
    const { running } = this;
    if (!running || data.serial !== running.serial) return;
    if (data.begun) {
      // The time limit starts here: the worker may have been busy with the names before.
      running.since = performance.now();
      running.timer = setTimeout(() => this.stop('This pattern takes too long; it was stopped.'), LIMIT_MS);
      return;
    }
    const milliseconds = performance.now() - running.since;
    this.finish(
      data.error
        ? { kind: 'error', text: data.error, milliseconds }
        : { kind: 'found', found: data.found, count: data.count, milliseconds },
    );
  }

  private stop(text: string): void {
    this.worker?.terminate();
    this.worker = null;
    this.finish({ kind: 'error', text, milliseconds: performance.now() - (this.running?.since ?? 0) });
  }

  private finish(outcome: Outcome): void {
    const { running } = this;
    this.running = null;
    clearTimeout(running?.timer);
    running?.resolve(this.waiting ? null : outcome);
    this.next();
  }
}
