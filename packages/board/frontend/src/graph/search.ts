/** Search by pattern, in a worker that is ended when it takes too long. */
import { startWorker } from '../shell/workers.ts';
import type { GraphModel } from './model/graph_model.ts';
import type { SearchReply, SearchRequest } from './search.worker.ts';

const LIMIT_MS = 200;
const MOST = 300;

export type Outcome =
  | { kind: 'found'; found: number[]; count: number; milliseconds: number }
  | { kind: 'error'; text: string; milliseconds: number };

export class Search {
  private readonly model: GraphModel;
  private worker: Worker | null = null;
  private ready: Promise<void> = Promise.resolve();
  private serial = 0;

  constructor(model: GraphModel) {
    this.model = model;
  }

  /** Starts the worker and gives it the names, so that the first search is as fast as the next. */
  warm(): void {
    if (this.worker) return;
    const worker = startWorker('search');
    this.worker = worker;
    const { labels, parent, flags, root } = this.model;
    const names: SearchRequest = { kind: 'names', labels, parent, own: flags, root };
    worker.postMessage(names);
    // An answer to an empty search says that the names are there; its time does not count.
    this.ready = new Promise((resolve) => {
      worker.addEventListener('message', () => resolve(), { once: true });
      worker.postMessage({ kind: 'find', serial: 0, pattern: '$^', most: 1 } satisfies SearchRequest);
    });
  }

  async find(pattern: string): Promise<Outcome | null> {
    this.warm();
    const serial = ++this.serial;
    await this.ready;
    const worker = this.worker;
    if (!worker || serial !== this.serial) return null;
    const start = performance.now();
    return new Promise((resolve) => {
      const finish = (outcome: Outcome | null) => {
        clearTimeout(timer);
        worker.removeEventListener('message', heard);
        resolve(outcome);
      };
      const heard = ({ data }: MessageEvent<SearchReply>) => {
        if (data.serial !== serial) return;
        const milliseconds = performance.now() - start;
        if (data.error) finish({ kind: 'error', text: data.error, milliseconds });
        else finish({ kind: 'found', found: data.found, count: data.count, milliseconds });
      };
      const timer = setTimeout(() => {
        worker.terminate();
        if (this.worker === worker) this.worker = null;
        const milliseconds = performance.now() - start;
        finish({ kind: 'error', text: 'This pattern takes too long; it was stopped.', milliseconds });
      }, LIMIT_MS);
      worker.addEventListener('message', heard);
      worker.postMessage({ kind: 'find', serial, pattern, most: MOST } satisfies SearchRequest);
    });
  }

  close(): void {
    this.worker?.terminate();
    this.worker = null;
  }
}
