/** Matches patterns against names in a worker: one at a time, the newest next, each with a time limit. */

export interface NameMatches {
  /** Indices of all names that match, in ascending order. */
  found: ArrayLike<number>;
  wrong: 'pattern' | 'time' | null;
  /** The reason, as a text. */
  message: string;
}

/** The part of Worker that is used; tests replace it. */
export interface SearchWorker {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
}

interface PendingSearch {
  pattern: string;
  resolve: (matches: NameMatches | null) => void;
}

export class NameSearch {
  private readonly start: () => SearchWorker;
  private readonly names: string[];
  private readonly mostMs: number;
  private worker: SearchWorker | null = null;
  private ready = false;
  private running: PendingSearch | null = null;
  private next: PendingSearch | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(start: () => SearchWorker, names: string[], mostMs: number) {
    this.start = start;
    this.names = names;
    this.mostMs = mostMs;
    this.warm();
  }

  /** Returns: the matches, or null if a newer pattern came first. */
  find(pattern: string): Promise<NameMatches | null> {
    return new Promise((resolve) => {
      this.next?.resolve(null);
      this.next = { pattern, resolve };
      this.go();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
    this.running?.resolve(null);
    this.next?.resolve(null);
    this.running = null;
    this.next = null;
  }

  /** Starts the worker and sends it the names first, so that the time limit covers the search alone. */
  private warm(): void {
    const worker = this.start();
    this.worker = worker;
    this.ready = false;
    worker.onmessage = ({ data }: MessageEvent) => {
      if (worker !== this.worker) return;
      if (data.ready) {
        this.ready = true;
        this.go();
      } else {
        const { found = [], error } = data as { found?: ArrayLike<number>; error?: string };
        this.end({ found, wrong: error === undefined ? null : 'pattern', message: error ?? '' });
      }
    };
    worker.postMessage({ names: this.names });
  }

  private go(): void {
    if (!this.ready || this.running || !this.next || !this.worker) return;
    this.running = this.next;
    this.next = null;
    this.timer = setTimeout(() => {
      this.worker?.terminate();
      this.warm();
      this.end({ found: [], wrong: 'time', message: `stopped after ${this.mostMs} ms` });
    }, this.mostMs);
    this.worker.postMessage({ pattern: this.running.pattern });
  }

  private end(matches: NameMatches): void {
    clearTimeout(this.timer);
    const ended = this.running;
    this.running = null;
    ended?.resolve(matches);
    this.go();
  }
}
