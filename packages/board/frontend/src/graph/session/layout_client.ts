/** The page's side of the layout worker: one request at a time, the newest next. */
import { signal } from '@preact/signals';
import type { ViewState } from '../model/view_state.ts';
import type { SceneMessage } from '../scene/indexed_scene.ts';
import type { LayoutRequest } from '../scene/layout.worker.ts';

/** A superseded layout is cancelled once it has taken this long. */
const PATIENCE_MS = 700;

export class LayoutClient {
  readonly busy = signal(false);
  /** Why the requested view has no layout; null without a failure. */
  readonly failure = signal<string | null>(null);
  private readonly start: (failed: (why: string) => void) => Worker;
  private readonly load: () => LayoutRequest & { kind: 'load' };
  private readonly received: (message: SceneMessage, view: ViewState) => void;
  private worker: Worker | null = null;
  private serial = 0;
  private running: { view: ViewState; since: number } | null = null;
  private waiting: ViewState | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Args:
   *   start: starts a worker, and calls back with the reason when it fails.
   *   load: makes the first message for a new worker.
   *   received: takes the scene of a view that is still needed.
   */
  constructor(
    start: (failed: (why: string) => void) => Worker,
    load: () => LayoutRequest & { kind: 'load' },
    received: (message: SceneMessage, view: ViewState) => void,
  ) {
    this.start = start;
    this.load = load;
    this.received = received;
  }

  request(view: ViewState): void {
    this.busy.value = true;
    this.failure.value = null;
    if (!this.running) {
      this.send(view);
      return;
    }
    this.waiting = view;
    const left = PATIENCE_MS - (performance.now() - this.running.since);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.waiting) return;
      this.end();
      this.next();
    }, left);
  }

  /** Lays out the last view again with a new worker. */
  retry(): void {
    const view = this.waiting ?? this.running?.view;
    this.end();
    if (view) this.request(view);
  }

  /** Cancels the layout in progress. */
  cancel(): void {
    this.end();
    this.waiting = null;
    this.busy.value = false;
  }

  close(): void {
    this.cancel();
  }

  private end(): void {
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
    this.serial++;
    if (this.running && !this.waiting) this.waiting = this.running.view;
    this.running = null;
  }

  private next(): void {
    if (this.waiting) this.send(this.waiting);
  }

  private send(view: ViewState): void {
    const worker = this.worker ?? this.begin();
    this.waiting = null;
    this.serial++;
    this.running = { view, since: performance.now() };
    worker.postMessage({ kind: 'layout', serial: this.serial, view } satisfies LayoutRequest);
  }

  private begin(): Worker {
    const worker = this.start((why) => {
      if (worker === this.worker) this.failed(why);
    });
    this.worker = worker;
    worker.addEventListener('message', ({ data }: MessageEvent<SceneMessage>) => this.receive(data));
    const load = this.load();
    worker.postMessage(load, [load.bundle]);
    return worker;
  }

  private receive(message: SceneMessage): void {
    if (message.serial !== this.serial || !this.running) return;
    const { view } = this.running;
    clearTimeout(this.timer);
    this.running = null;
    if (this.waiting) {
      this.next();
      return;
    }
    this.busy.value = false;
    this.received(message, view);
  }

  private failed(text: string): void {
    this.end();
    this.busy.value = false;
    this.failure.value = text;
  }
}
