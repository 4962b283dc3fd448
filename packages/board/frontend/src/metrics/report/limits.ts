/** How much a report may hold. Beyond that it names what it leaves out. */

export const MOST_CARDS = 200;
/** Curves of a card with a row in its table. */
export const MOST_ROWS = 100;
/** Points of a chart, of all its curves. */
export const MOST_POINTS = 40_000;
export const MOST_RUNS_OF_IMAGES = 12;
export const MOST_SAMPLES = 16;
export const MOST_IMAGE_BYTES = 4e6;
export const MOST_RUNS_OF_TEXTS = 20;
/** Characters of a text. */
export const MOST_TEXT = 20_000;
/** Lines of the list of what is left out. */
export const MOST_NAMED = 200;

/** Bytes that a kind of content may take in the whole report. */
export class Budget {
  private left: number;
  private readonly text: string;

  constructor(bytes: number, text: string) {
    this.left = bytes;
    this.text = text;
  }

  /** Takes bytes if there are so many. Returns: null, or why not. */
  take(bytes: number): string | null {
    if (bytes > this.left) return this.text;
    this.left -= bytes;
    return null;
  }
}
