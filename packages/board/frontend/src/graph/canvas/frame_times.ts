/** How smoothly the canvas draws: read by tests and by benchmarks/graph_page.py. */

/** Frames further apart than this belong to two movements. */
const PAUSE_MS = 400;
const KEPT = 600;

export class FrameTimes {
  /** Times between frames while something moves, the last 600 of them. */
  readonly intervals: number[] = [];
  /** When the first complete picture was drawn; 0 before. */
  firstDrawMs = 0;
  pictures = 0;
  scenes = 0;
  /** When the last scene was first drawn. */
  shownAt = 0;
  private pending = false;
  private lastFrame = 0;

  sceneReplaced(): void {
    this.scenes++;
    this.pending = true;
  }

  frameBegins(now: number): void {
    if (this.lastFrame > 0 && now - this.lastFrame < PAUSE_MS) {
      this.intervals.push(now - this.lastFrame);
      if (this.intervals.length > KEPT) this.intervals.shift();
    }
    this.lastFrame = now;
  }

  pictureDrawn(): void {
    if (this.firstDrawMs === 0) this.firstDrawMs = performance.now();
  }

  /**
   * Args:
   *   complete: whether the picture shows the scene as it is, at rest.
   *   last: whether no further frame follows.
   */
  frameEnds(complete: boolean, last: boolean): void {
    this.pictures++;
    if (this.pending && complete) {
      this.pending = false;
      this.shownAt = performance.now();
    }
    if (last) this.lastFrame = 0;
  }
}
