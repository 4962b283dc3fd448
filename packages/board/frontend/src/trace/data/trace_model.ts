/** One step trace on the page: the data fetched so far, and what to fetch next. */
import { signal } from '@preact/signals';
import { messageOf } from '../../api/error_message.ts';
import { MemoryCurves } from './memory_curves.ts';
import { fetchCut, fetchSummary, type Place, type Summary, type TraceHeader } from './trace_api.ts';
import { stillSufficient, type TraceItems, type Window, windowToRequest } from './trace_items.ts';

/** Traces with more tracks than this are fetched for the visible tracks only. */
const MANY_TRACKS = 64;
/** A zoom continues while a reply is pending, so two requests may be pending. */
const MAX_PENDING = 2;
/** After this long without a movement, the surroundings of the window and its memory curves are fetched. */
const IDLE_MS = 140;
/** How much is requested on each side, in widths of the window: while zooming, and otherwise. */
const BESIDE = 0.04;
const AROUND = 0.5;

export interface WindowRequest {
  t0: number;
  t1: number;
  width: number;
  lanes: number[];
}

interface PendingRequest {
  turn: number;
  window: Window;
  lanes: ReadonlySet<number> | null;
  ahead: boolean;
  stop: AbortController;
}

export class TraceModel {
  readonly id: number;
  /** Grows whenever something new can be drawn. */
  readonly version = signal(0);
  readonly header = signal<TraceHeader | null>(null);
  readonly summary = signal<Summary | null>(null);
  /** Why the trace, or its summary, could not be read. */
  readonly failure = signal<string | null>(null);
  /** Why finer detail of the window is missing. */
  readonly windowFailure = signal<string | null>(null);
  readonly memory: MemoryCurves;
  /** The whole step, for the overview and the first picture. */
  whole: TraceItems | null = null;
  /** The finest items so far for the window. */
  items: TraceItems | null = null;
  /** Slices of the node that is selected on any page. */
  marked: Place[] = [];
  private loadedWindow: Window | null = null;
  private loadedTracks: ReadonlySet<number> | null = null;
  private loadedTurn = 0;
  private opening = false;
  private turn = 0;
  private readonly pending = new Set<PendingRequest>();
  private requested: WindowRequest | null = null;
  private failed: WindowRequest | null = null;
  private rest: ReturnType<typeof setTimeout> | undefined;

  constructor(id: number) {
    this.id = id;
    this.memory = new MemoryCurves(
      id,
      () => this.touch(),
      (why) => {
        this.windowFailure.value = why;
      },
    );
  }

  get duration(): number {
    return this.header.peek()?.duration_ns ?? 1;
  }

  /** Whether the items are as fine as the window needs. */
  get settled(): boolean {
    return this.requested !== null && this.isLoaded(this.requested);
  }

  touch(): void {
    this.version.value = this.version.peek() + 1;
  }

  /** Fetches the overview, then the summary, then the overview again with the critical path marked. */
  async open(width: number): Promise<void> {
    if (this.opening) return;
    this.opening = true;
    this.failure.value = null;
    try {
      await this.fetchWhole(width);
      this.touch();
      this.fetchSurroundingsLater();
      this.summary.value = await fetchSummary(this.id);
      if (!this.header.peek()!.analysed) {
        await this.fetchWhole(width);
        this.loadedWindow = null;
      }
      this.touch();
      this.request();
    } catch (error) {
      this.failure.value = messageOf(error);
    } finally {
      this.opening = false;
    }
  }

  /** Retries what failed. */
  retry(width: number): void {
    if (this.failure.peek() !== null) void this.open(width);
    this.failed = null;
    this.windowFailure.value = null;
    this.request();
  }

  private async fetchWhole(width: number): Promise<void> {
    const px = Math.max(16, Math.round(width));
    const { header, items } = await fetchCut(this.id, { px }, null);
    const known = this.items;
    this.whole = items;
    if (!known || known.t1 - known.t0 >= header.duration_ns) {
      this.items = items;
      this.loadedWindow = { t0: 0, t1: header.duration_ns, px };
      this.loadedTracks = new Set(header.shown_lanes);
    }
    this.header.value = header;
  }

  /** Sets the visible window; fetches it unless present or requested items suffice. */
  show(requested: WindowRequest): void {
    this.requested = requested;
    this.request();
  }

  /** Whether the trace has too many tracks to fetch all of them at once. */
  private get fetchesVisibleTracksOnly(): boolean {
    return (this.header.peek()?.lanes.length ?? 0) > MANY_TRACKS;
  }

  private request(): void {
    const { requested } = this;
    if (!requested || !this.header.peek() || !(requested.t1 > requested.t0)) return;
    if (this.isLoaded(requested)) {
      this.fetchSurroundingsLater();
      return;
    }
    if (this.failed && same(this.failed, requested)) return;
    for (const other of this.pending) {
      if (other.ahead) {
        other.stop.abort();
        this.pending.delete(other);
      } else if (this.covers(other.window, other.lanes, requested)) return;
    }
    if (this.pending.size >= MAX_PENDING) return; // the first reply sends the next request
    // A pan needs the surroundings next; a zoom does not.
    const loaded = this.loadedWindow;
    const span = requested.t1 - requested.t0;
    const panned =
      loaded && Math.abs(span / requested.width / ((loaded.t1 - loaded.t0) / loaded.px) - 1) < 0.05;
    void this.fetchWindow(requested, panned ? AROUND : BESIDE, false);
  }

  private async fetchWindow(requested: WindowRequest, around: number, ahead: boolean): Promise<void> {
    const window = windowToRequest(requested.t0, requested.t1, requested.width, this.duration, around);
    if (!(window.t1 > window.t0)) return;
    const lanes = this.fetchesVisibleTracksOnly ? [...requested.lanes].sort((a, b) => a - b) : null;
    const turn = ++this.turn;
    const request: PendingRequest = {
      turn,
      window,
      lanes: lanes && new Set(lanes),
      ahead,
      stop: new AbortController(),
    };
    this.pending.add(request);
    try {
      const { items } = await fetchCut(this.id, window, lanes, request.stop.signal);
      if (turn > this.loadedTurn) {
        this.loadedTurn = turn;
        this.items = items;
        this.loadedWindow = window;
        this.loadedTracks = request.lanes;
        this.failed = null;
        this.windowFailure.value = null;
        this.touch();
      }
    } catch (error) {
      if (!request.stop.signal.aborted) {
        this.failed = requested;
        if (!ahead) this.windowFailure.value = messageOf(error);
      }
    } finally {
      this.pending.delete(request);
    }
    this.request();
  }

  private isLoaded(requested: WindowRequest): boolean {
    return this.loadedWindow !== null && this.covers(this.loadedWindow, this.loadedTracks, requested);
  }

  private covers(window: Window, lanes: ReadonlySet<number> | null, requested: WindowRequest): boolean {
    if (!stillSufficient(window, requested.t0, requested.t1, requested.width, this.duration)) return false;
    return (
      !this.fetchesVisibleTracksOnly || (lanes !== null && requested.lanes.every((lane) => lanes.has(lane)))
    );
  }

  private fetchSurroundingsLater(): void {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      if (this.requested && !this.isLoaded(this.requested)) return;
      const { t0, t1, width } = this.requested ?? { t0: 0, t1: this.duration, width: 1200 };
      const around = windowToRequest(t0, t1, width, this.duration, AROUND);
      void this.memory.load(around);
      const loaded = this.loadedWindow;
      const hasLeft = loaded !== null && loaded.t0 <= Math.max(0, t0 - (t1 - t0) / 4);
      if (this.requested && !(hasLeft && loaded.t1 >= Math.min(this.duration, t1 + (t1 - t0) / 4))) {
        if (this.failed && same(this.failed, this.requested)) return;
        if (this.pending.size === 0) void this.fetchWindow(this.requested, AROUND, true);
      }
    }, IDLE_MS);
  }
}

function same(a: WindowRequest, b: WindowRequest): boolean {
  return (
    a.t0 === b.t0 &&
    a.t1 === b.t1 &&
    a.width === b.width &&
    a.lanes.length === b.lanes.length &&
    a.lanes.every((lane, i) => lane === b.lanes[i])
  );
}
