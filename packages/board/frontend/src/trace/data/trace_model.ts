/** One step trace in the page: what was fetched of it, and what is fetched next. */
import { signal } from '@preact/signals';
import { messageOf } from '../../api/error_message.ts';
import { MemoryCurves } from './memory_curves.ts';
import { fetchCut, fetchSummary, type Place, type Summary, type TraceHeader } from './trace_api.ts';
import { stillGood, type TraceItems, type Window, windowToAsk } from './trace_items.ts';

/** From so many lanes on only those that are seen are asked for. */
const MANY_LANES = 64;
/** A zoom goes on while its last picture is on the way: the next may be asked for at once. */
const MOST_UNDER_WAY = 2;
/** When nothing moves any more, what lies around the window is fetched, and the memory of it. */
const REST_MS = 140;
/** How much is asked for at each side, in windows: for a zoom, which is over soon, and around it. */
const BESIDE = 0.04;
const AROUND = 0.5;

export interface Wanted {
  t0: number;
  t1: number;
  width: number;
  lanes: number[];
}

interface UnderWay {
  turn: number;
  window: Window;
  lanes: ReadonlySet<number> | null;
  ahead: boolean;
  stop: AbortController;
}

export class TraceModel {
  readonly id: number;
  /** Grows whenever there is something new to draw. */
  readonly version = signal(0);
  readonly header = signal<TraceHeader | null>(null);
  readonly summary = signal<Summary | null>(null);
  /** Why the trace, or its summary, could not be read. */
  readonly failure = signal<string | null>(null);
  /** Why the window is not as sharp as it could be. */
  readonly windowFailure = signal<string | null>(null);
  readonly memory: MemoryCurves;
  /** All of the step, for the overview and as the first picture. */
  whole: TraceItems | null = null;
  /** The sharpest there is for the window. */
  items: TraceItems | null = null;
  /** Slices of the node that is selected anywhere. */
  marked: Place[] = [];
  private had: Window | null = null;
  private hadLanes: ReadonlySet<number> | null = null;
  private hadTurn = 0;
  private opening = false;
  private turn = 0;
  private readonly underWay = new Set<UnderWay>();
  private wanted: Wanted | null = null;
  private failed: Wanted | null = null;
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

  /** Whether what is drawn is as sharp as it gets. */
  get settled(): boolean {
    return this.wanted !== null && this.serves(this.wanted);
  }

  touch(): void {
    this.version.value = this.version.peek() + 1;
  }

  /** Fetches the overview, then what the step waited for, then the overview with that marked. */
  async open(width: number): Promise<void> {
    if (this.opening) return;
    this.opening = true;
    this.failure.value = null;
    try {
      await this.fetchWhole(width);
      this.touch();
      this.restSoon();
      this.summary.value = await fetchSummary(this.id);
      if (!this.header.peek()!.analysed) {
        await this.fetchWhole(width);
        this.had = null;
      }
      this.touch();
      this.ask();
    } catch (error) {
      this.failure.value = messageOf(error);
    } finally {
      this.opening = false;
    }
  }

  /** Tries again what failed. */
  retry(width: number): void {
    if (this.failure.peek() !== null) void this.open(width);
    this.failed = null;
    this.windowFailure.value = null;
    this.ask();
  }

  private async fetchWhole(width: number): Promise<void> {
    const px = Math.max(16, Math.round(width));
    const { header, items } = await fetchCut(this.id, { px }, null);
    const known = this.items;
    this.whole = items;
    if (!known || known.t1 - known.t0 >= header.duration_ns) {
      this.items = items;
      this.had = { t0: 0, t1: header.duration_ns, px };
      this.hadLanes = new Set(header.shown_lanes);
    }
    this.header.value = header;
  }

  /** Says what is seen; fetches it unless what is there, or on its way, will do. */
  show(wanted: Wanted): void {
    this.wanted = wanted;
    this.ask();
  }

  private get many(): boolean {
    return (this.header.peek()?.lanes.length ?? 0) > MANY_LANES;
  }

  private ask(): void {
    const { wanted } = this;
    if (!wanted || !this.header.peek() || !(wanted.t1 > wanted.t0)) return;
    if (this.serves(wanted)) {
      this.restSoon();
      return;
    }
    if (this.failed && same(this.failed, wanted)) return;
    for (const flight of this.underWay) {
      if (flight.ahead) {
        flight.stop.abort();
        this.underWay.delete(flight);
      } else if (this.good(flight.window, flight.lanes, wanted)) return;
    }
    if (this.underWay.size >= MOST_UNDER_WAY) return; // the one that lands first asks again
    // A pan is asked for with room around it; of a zoom the next step wants something else.
    const had = this.had;
    const span = wanted.t1 - wanted.t0;
    const panned = had && Math.abs(span / wanted.width / ((had.t1 - had.t0) / had.px) - 1) < 0.05;
    void this.fetchWindow(wanted, panned ? AROUND : BESIDE, false);
  }

  private async fetchWindow(wanted: Wanted, around: number, ahead: boolean): Promise<void> {
    const window = windowToAsk(wanted.t0, wanted.t1, wanted.width, this.duration, around);
    if (!(window.t1 > window.t0)) return;
    const lanes = this.many ? [...wanted.lanes].sort((a, b) => a - b) : null;
    const turn = ++this.turn;
    const flight: UnderWay = {
      turn,
      window,
      lanes: lanes && new Set(lanes),
      ahead,
      stop: new AbortController(),
    };
    this.underWay.add(flight);
    try {
      const { items } = await fetchCut(this.id, window, lanes, flight.stop.signal);
      if (turn > this.hadTurn) {
        this.hadTurn = turn;
        this.items = items;
        this.had = window;
        this.hadLanes = flight.lanes;
        this.failed = null;
        this.windowFailure.value = null;
        this.touch();
      }
    } catch (error) {
      if (!flight.stop.signal.aborted) {
        this.failed = wanted;
        if (!ahead) this.windowFailure.value = messageOf(error);
      }
    } finally {
      this.underWay.delete(flight);
    }
    this.ask();
  }

  private serves(wanted: Wanted): boolean {
    return this.had !== null && this.good(this.had, this.hadLanes, wanted);
  }

  private good(window: Window, lanes: ReadonlySet<number> | null, wanted: Wanted): boolean {
    if (!stillGood(window, wanted.t0, wanted.t1, wanted.width, this.duration)) return false;
    return !this.many || (lanes !== null && wanted.lanes.every((lane) => lanes.has(lane)));
  }

  private restSoon(): void {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      if (this.wanted && !this.serves(this.wanted)) return;
      const { t0, t1, width } = this.wanted ?? { t0: 0, t1: this.duration, width: 1200 };
      const around = windowToAsk(t0, t1, width, this.duration, AROUND);
      void this.memory.load(around);
      const { had } = this;
      const there = had !== null && had.t0 <= Math.max(0, t0 - (t1 - t0) / 4);
      if (this.wanted && !(there && had.t1 >= Math.min(this.duration, t1 + (t1 - t0) / 4))) {
        if (this.failed && same(this.failed, this.wanted)) return;
        if (this.underWay.size === 0) void this.fetchWindow(this.wanted, AROUND, true);
      }
    }, REST_MS);
  }
}

function same(a: Wanted, b: Wanted): boolean {
  return (
    a.t0 === b.t0 &&
    a.t1 === b.t1 &&
    a.width === b.width &&
    a.lanes.length === b.lanes.length &&
    a.lanes.every((lane, i) => lane === b.lanes[i])
  );
}
