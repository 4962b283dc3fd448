/** The memory curves of a step trace, for the window that is shown. */
import { signal } from '@preact/signals';
import { messageOf } from '../../api/error_message.ts';
import { fetchMemory, type MemoryCurve } from './trace_api.ts';
import type { Window } from './trace_items.ts';

export class MemoryCurves {
  curves: MemoryCurve[] = [];
  /** Titles of the curves, one a line. The rows of the timeline depend on these and not on every new curve. */
  readonly titles = signal('');
  private readonly trace: number;
  private readonly changed: () => void;
  private readonly failed: (why: string) => void;
  private window: Window | null = null;

  constructor(trace: number, changed: () => void, failed: (why: string) => void) {
    this.trace = trace;
    this.changed = changed;
    this.failed = failed;
  }

  /** Fetches the curves of a window, unless they are here or requested. */
  async load(window: Window): Promise<void> {
    if (!(window.t1 > window.t0)) return; // all slices of the step are empty
    const had = this.window;
    if (had && had.t0 === window.t0 && had.t1 === window.t1 && had.px === window.px) return;
    this.window = window;
    try {
      const curves = await fetchMemory(this.trace, window);
      if (this.window !== window) return;
      this.curves = curves;
      this.titles.value = curves.map((curve) => `${curve.task} ${curve.source} ${curve.name}`).join('\n');
      this.changed();
    } catch (error) {
      if (this.window !== window) return;
      this.window = null;
      this.failed(messageOf(error));
    }
  }
}
