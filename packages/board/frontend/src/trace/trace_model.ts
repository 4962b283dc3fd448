/** One step trace in the page: what was fetched of it, and what is fetched next. */
import { signal } from '@preact/signals';
import {
  fetchCut,
  fetchMemory,
  fetchSummary,
  type MemoryCurve,
  type Place,
  type Summary,
  type TraceHeader,
} from './trace_api.ts';
import { stillGood, type TraceItems, type Window, windowToAsk } from './trace_items.ts';

/** From so many lanes on only those that are seen are asked for. */
const MANY_LANES = 64;

export class TraceModel {
  readonly id: number;
  /** Grows whenever there is something new to draw. */
  readonly version = signal(0);
  readonly header = signal<TraceHeader | null>(null);
  readonly summary = signal<Summary | null>(null);
  readonly failure = signal<string | null>(null);
  /** All of the step, for the overview and as the first picture. */
  whole: TraceItems | null = null;
  /** The sharpest there is for the window. */
  items: TraceItems | null = null;
  memory: MemoryCurve[] = [];
  /** Slices of the node that is selected anywhere. */
  marked: Place[] = [];
  private had: Window | null = null;
  private hadLanes: ReadonlySet<number> | null = null;
  private memoryHad: Window | null = null;
  private busy: AbortController | null = null;
  private wanted: { t0: number; t1: number; width: number; lanes: number[] } | null = null;

  constructor(id: number) {
    this.id = id;
  }

  get duration(): number {
    return this.header.peek()?.duration_ns ?? 1;
  }

  /** Whether what is drawn is as sharp as it gets. */
  get settled(): boolean {
    return this.wanted !== null && !this.busy && this.serves(this.wanted);
  }

  touch(): void {
    this.version.value = this.version.peek() + 1;
  }

  /** Fetches the overview, then what the step waited for, then the overview with that marked. */
  async open(width: number): Promise<void> {
    try {
      await this.fetchWhole(width);
      this.touch();
      void this.fetchCurves({ t0: 0, t1: this.duration, px: Math.max(16, Math.round(width)) });
      this.summary.value = await fetchSummary(this.id);
      await this.fetchWhole(width);
      this.had = null;
      this.touch();
      if (this.wanted) void this.fetchNext();
    } catch (error) {
      this.failure.value = error instanceof Error ? error.message : String(error);
    }
  }

  private async fetchWhole(width: number): Promise<void> {
    const px = Math.max(16, Math.round(width));
    const { header, items } = await fetchCut(this.id, { px }, null);
    this.header.value = header;
    this.whole = items;
    if (!this.items || this.items.t1 - this.items.t0 >= header.duration_ns) {
      this.items = items;
      this.had = { t0: 0, t1: header.duration_ns, px };
      this.hadLanes = header.lanes.length > MANY_LANES ? null : new Set(header.lanes.map((l) => l.id));
    }
  }

  /** Says what is seen; fetches it unless what is there will do. One call at a time is under way. */
  show(t0: number, t1: number, width: number, lanes: number[]): void {
    if (!this.header.peek()) return;
    this.wanted = { t0, t1, width, lanes };
    if (!this.busy) void this.fetchNext();
  }

  private async fetchNext(): Promise<void> {
    const wanted = this.wanted;
    if (!wanted || this.serves(wanted)) return;
    const window = windowToAsk(wanted.t0, wanted.t1, wanted.width, this.duration);
    if (!(window.t1 > window.t0)) return;
    const many = (this.header.peek()?.lanes.length ?? 0) > MANY_LANES;
    this.busy = new AbortController();
    try {
      const lanes = many ? wanted.lanes.slice(0, 256) : null;
      const { items } = await fetchCut(this.id, window, lanes, this.busy.signal);
      this.items = items;
      this.had = window;
      this.hadLanes = many ? new Set(wanted.lanes) : null;
      this.touch();
      if (this.memory.length) void this.fetchCurves(window);
    } catch (error) {
      this.failure.value = error instanceof Error ? error.message : String(error);
      this.wanted = null;
    } finally {
      this.busy = null;
    }
    void this.fetchNext();
  }

  private serves(wanted: { t0: number; t1: number; width: number; lanes: number[] }): boolean {
    const { had, hadLanes } = this;
    if (!had || !stillGood(had, wanted.t0, wanted.t1, wanted.width, this.duration)) return false;
    const many = (this.header.peek()?.lanes.length ?? 0) > MANY_LANES;
    return !many || (hadLanes !== null && wanted.lanes.every((lane) => hadLanes.has(lane)));
  }

  private async fetchCurves(window: Window): Promise<void> {
    if (this.memoryHad && JSON.stringify(this.memoryHad) === JSON.stringify(window)) return;
    this.memoryHad = window;
    try {
      const curves = await fetchMemory(this.id, window);
      if (this.memoryHad !== window) return;
      this.memory = curves;
      this.touch();
    } catch {
      // the lanes say what is wrong with the trace
    }
  }
}
