/** The Barnes-Hut tree, in which distant points count as one at their centre. */

const MOST_DEPTH = 48;

/** A quad- or octree in flat arrays, which can be refilled without new memory. */
export class SpaceTree {
  private readonly dims: number;
  private readonly fan: number;
  private child: Int32Array;
  private count: Float64Array;
  private centre: Float64Array;
  private point: Int32Array;
  private nodes = 0;
  private rootSize = 0;
  private corner: Float64Array;
  private readonly stack: Int32Array;
  private readonly sizes: Float64Array;

  constructor(dims: number, rows: number) {
    this.dims = dims;
    this.fan = 1 << dims;
    const room = Math.max(64, rows * 3);
    this.child = new Int32Array(room * this.fan);
    this.count = new Float64Array(room);
    this.centre = new Float64Array(room * dims);
    this.point = new Int32Array(room);
    this.corner = new Float64Array(dims);
    this.stack = new Int32Array(MOST_DEPTH * this.fan * 2);
    this.sizes = new Float64Array(MOST_DEPTH * this.fan * 2);
  }

  fill(y: Float64Array, rows: number): void {
    const { dims } = this;
    this.nodes = 0;
    let size = 1e-9;
    for (let d = 0; d < dims; d++) {
      let low = Infinity;
      let high = -Infinity;
      for (let i = 0; i < rows; i++) {
        const value = y[i * dims + d]!;
        if (value < low) low = value;
        if (value > high) high = value;
      }
      this.corner[d] = low;
      size = Math.max(size, high - low);
    }
    this.rootSize = size * 1.000001;
    this.newNode();
    for (let i = 0; i < rows; i++) this.add(y, i);
  }

  /**
   * Adds the repulsive forces on point i to `force` (dims values). Returns: its part of Z:
   * sums over all others of q^2 (y_i - y_j) and of q, with q = 1 / (1 + |y_i - y_j|^2).
   */
  push(y: Float64Array, i: number, theta: number, force: Float64Array): number {
    const { dims, fan, child, count, centre, point, stack, sizes } = this;
    const thetaSquare = theta * theta;
    let z = 0;
    let top = 0;
    stack[0] = 0;
    sizes[0] = this.rootSize;
    while (top >= 0) {
      const node = stack[top]!;
      const size = sizes[top]!;
      top--;
      const total = count[node]!;
      if (total === 0) continue;
      let square = 0;
      for (let d = 0; d < dims; d++) {
        const difference = y[i * dims + d]! - centre[node * dims + d]!;
        square += difference * difference;
      }
      const leaf = point[node]!;
      if (leaf >= 0 || size * size < thetaSquare * square) {
        // A leaf may hold the point itself, and others at the same position.
        const others = leaf >= 0 && square === 0 ? total - 1 : total;
        if (others > 0) {
          const q = 1 / (1 + square);
          z += others * q;
          const weight = others * q * q;
          for (let d = 0; d < dims; d++) {
            force[d]! += weight * (y[i * dims + d]! - centre[node * dims + d]!);
          }
        }
        continue;
      }
      for (let c = 0; c < fan; c++) {
        const below = child[node * fan + c]!;
        if (below > 0) {
          top++;
          stack[top] = below;
          sizes[top] = size / 2;
        }
      }
    }
    return z;
  }

  private add(y: Float64Array, i: number): void {
    const { dims } = this;
    let node = 0;
    let size = this.rootSize;
    const low = Float64Array.from(this.corner);
    for (let depth = 0; ; depth++) {
      const total = this.count[node]!;
      for (let d = 0; d < dims; d++) {
        const at = node * dims + d;
        this.centre[at] = (this.centre[at]! * total + y[i * dims + d]!) / (total + 1);
      }
      this.count[node] = total + 1;
      if (total === 0) {
        this.point[node] = i;
        return;
      }
      const held = this.point[node]!;
      if (held >= 0) {
        let same = true;
        for (let d = 0; d < dims; d++) if (y[held * dims + d] !== y[i * dims + d]) same = false;
        if (same || depth >= MOST_DEPTH - 2) return;
        // The held point moves one level down, with its count of points at the same position.
        this.point[node] = -1;
        const below = this.childOf(node, this.which(y, held, low, size));
        this.point[below] = held;
        this.count[below] = total;
        for (let d = 0; d < dims; d++) this.centre[below * dims + d] = y[held * dims + d]!;
      }
      const which = this.which(y, i, low, size);
      node = this.childOf(node, which);
      size /= 2;
      for (let d = 0; d < dims; d++) if (which & (1 << d)) low[d]! += size;
    }
  }

  private which(y: Float64Array, i: number, low: Float64Array, size: number): number {
    let which = 0;
    for (let d = 0; d < this.dims; d++) if (y[i * this.dims + d]! >= low[d]! + size / 2) which |= 1 << d;
    return which;
  }

  private childOf(node: number, which: number): number {
    let below = this.child[node * this.fan + which]!;
    if (below === 0) {
      below = this.newNode();
      this.child[node * this.fan + which] = below;
    }
    return below;
  }

  private newNode(): number {
    const node = this.nodes++;
    if (node >= this.count.length) this.grow();
    this.child.fill(0, node * this.fan, (node + 1) * this.fan);
    this.count[node] = 0;
    this.centre.fill(0, node * this.dims, (node + 1) * this.dims);
    this.point[node] = -1;
    return node;
  }

  private grow(): void {
    const twice = <T extends Int32Array | Float64Array>(from: T): T => {
      const larger = new (from.constructor as new (n: number) => T)(from.length * 2);
      larger.set(from as never);
      return larger;
    };
    this.child = twice(this.child);
    this.count = twice(this.count);
    this.centre = twice(this.centre);
    this.point = twice(this.point);
  }
}
