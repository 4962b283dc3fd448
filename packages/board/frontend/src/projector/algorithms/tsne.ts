/** t-SNE (van der Maaten and Hinton 2008), with Barnes and Hut's tree where there are many points. */
import type { Affinities } from './affinities.ts';
import { gaussian, seeded } from './random.ts';
import { SpaceTree } from './space_tree.ts';

export interface TsneOptions {
  dims: 2 | 3;
  learningRate: number;
  /** 0 compares every pair. */
  theta: number;
  /** The initial positions, [rows * dims]; small random numbers without it. */
  initial?: Float64Array;
}

const MOST_EXACT = 2000;
const EXAGGERATION = 12;
const EXAGGERATED_ROUNDS = 250;
const MOMENTUM = [0.5, 0.8] as const;

export class Tsne {
  readonly y: Float64Array;
  iteration = 0;
  learningRate: number;
  /** Kullback-Leibler divergence at the last step. */
  cost = NaN;
  private readonly rows: number;
  private readonly dims: number;
  private readonly theta: number;
  private readonly p: Affinities;
  private readonly speed: Float64Array;
  private readonly gain: Float64Array;
  private readonly gradient: Float64Array;
  private readonly tree: SpaceTree | null;

  constructor(p: Affinities, rows: number, options: TsneOptions) {
    this.p = p;
    this.rows = rows;
    this.dims = options.dims;
    this.learningRate = options.learningRate;
    this.theta = rows <= MOST_EXACT ? 0 : options.theta;
    const size = rows * options.dims;
    const random = seeded(2008);
    this.y = options.initial
      ? Float64Array.from(options.initial)
      : Float64Array.from({ length: size }, () => gaussian(random) * 1e-4);
    this.speed = new Float64Array(size);
    this.gain = new Float64Array(size).fill(1);
    this.gradient = new Float64Array(size);
    this.tree = this.theta > 0 ? new SpaceTree(options.dims, rows) : null;
  }

  /** One step of gradient descent. */
  step(): void {
    const exaggeration = this.iteration < EXAGGERATED_ROUNDS ? EXAGGERATION : 1;
    this.cost = this.gradientInto(this.gradient, exaggeration);
    const momentum = MOMENTUM[this.iteration < EXAGGERATED_ROUNDS ? 0 : 1];
    const { y, speed, gain, gradient, dims, rows } = this;
    for (let i = 0; i < y.length; i++) {
      const partial = gradient[i]!;
      gain[i] = Math.sign(partial) === Math.sign(speed[i]!) ? Math.max(0.01, gain[i]! * 0.8) : gain[i]! + 0.2;
      speed[i] = momentum * speed[i]! - this.learningRate * gain[i]! * partial;
      y[i]! += speed[i]!;
    }
    for (let d = 0; d < dims; d++) {
      let mean = 0;
      for (let i = 0; i < rows; i++) mean += y[i * dims + d]!;
      mean /= Math.max(1, rows);
      for (let i = 0; i < rows; i++) y[i * dims + d]! -= mean;
    }
    this.iteration++;
  }

  /** Writes dC/dy and returns the cost C, with P times `exaggeration` in the gradient alone. */
  gradientInto(gradient: Float64Array, exaggeration = 1): number {
    const { rows, dims, y, p } = this;
    gradient.fill(0);
    const z = this.tree ? this.pushByTree(gradient) : this.pushByPairs(gradient);
    for (let i = 0; i < gradient.length; i++) gradient[i]! *= -4 / Math.max(z, 1e-300);
    let cost = 0;
    for (let i = 0; i < rows; i++) {
      for (let at = p.start[i]!; at < p.start[i + 1]!; at++) {
        const j = p.index[at]!;
        let square = 0;
        for (let d = 0; d < dims; d++) square += (y[i * dims + d]! - y[j * dims + d]!) ** 2;
        const q = 1 / (1 + square);
        const value = p.value[at]!;
        if (value > 0) cost += value * Math.log((value * z) / q);
        const pull = 4 * exaggeration * value * q;
        for (let d = 0; d < dims; d++) {
          gradient[i * dims + d]! += pull * (y[i * dims + d]! - y[j * dims + d]!);
        }
      }
    }
    return cost;
  }

  private pushByTree(push: Float64Array): number {
    const { rows, dims, y, tree } = this;
    tree!.fill(y, rows);
    const force = new Float64Array(dims);
    let z = 0;
    for (let i = 0; i < rows; i++) {
      force.fill(0);
      z += tree!.push(y, i, this.theta, force);
      for (let d = 0; d < dims; d++) push[i * dims + d] = force[d]!;
    }
    return z;
  }

  private pushByPairs(push: Float64Array): number {
    const { rows, dims, y } = this;
    let z = 0;
    for (let i = 0; i < rows; i++) {
      const a = i * dims;
      for (let j = i + 1; j < rows; j++) {
        const b = j * dims;
        const dx = y[a]! - y[b]!;
        const dy = y[a + 1]! - y[b + 1]!;
        const dz = dims === 3 ? y[a + 2]! - y[b + 2]! : 0;
        const q = 1 / (1 + dx * dx + dy * dy + dz * dz);
        z += 2 * q;
        const weight = q * q;
        push[a]! += weight * dx;
        push[b]! -= weight * dx;
        push[a + 1]! += weight * dy;
        push[b + 1]! -= weight * dy;
        if (dims === 3) {
          push[a + 2]! += weight * dz;
          push[b + 2]! -= weight * dz;
        }
      }
    }
    return z;
  }
}
