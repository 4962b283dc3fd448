/** A laid-out view as flat arrays, which the worker transfers to the page without a copy. */

export const OP = 0;
export const CONST = 1;
export const GROUP = 2;
export const OPENED = 3;
export const SERIES = 4;

export const AUXILIARY = 1;
/** Edges: drawn against the direction of ranks; the ends are ports. */
export const FROM_PORT = 1;
export const TO_PORT = 2;
export const UPWARDS = 4;

export interface Scene {
  /** The vertex of each item, or total + index for a series. Parents come before children. */
  item: Int32Array;
  kind: Uint8Array;
  flags: Uint8Array;
  /** Index of the opened group around it, -1 for those of the root. */
  parent: Int32Array;
  depth: Uint8Array;
  /** Left, top, width, height. */
  box: Float32Array;
  /** Strips of auxiliary nodes: index of the opened group (-1 root), left, top, width, height. */
  strips: Float32Array;
  /** Ends of each piece of an edge, as items (the outer end where it goes through a port). */
  from: Int32Array;
  to: Int32Array;
  edgeGroup: Int32Array;
  edgeFlags: Uint8Array;
  data: Uint32Array;
  control: Uint32Array;
  bytes: Float64Array;
  points: Float32Array;
  pointStart: Int32Array;
  /** left, top, right, bottom of each piece. */
  edgeBox: Float32Array;
  /** Stubs: index of the item in this scene, the item at the other end, outgoing, count. */
  stubs: Int32Array;
  width: number;
  height: number;
}

export function buffersOf(scene: Scene): ArrayBuffer[] {
  return Object.values(scene)
    .filter((value) => ArrayBuffer.isView(value))
    .map((view) => (view as Int32Array<ArrayBuffer>).buffer);
}
