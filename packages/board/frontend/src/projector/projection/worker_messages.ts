/** The messages between the page and the projector's worker. */

export interface LayoutOptions {
  method: 'tsne' | 'umap';
  dims: 2 | 3;
  perplexity: number;
  learningRate: number;
  /** Of UMAP. */
  neighbours: number;
  minDist: number;
}

export type ToWorker =
  | { kind: 'pca'; points: Float32Array; rows: number; dims: number; count: number }
  | { kind: 'layout'; points: Float32Array; rows: number; dims: number; options: LayoutOptions }
  | { kind: 'pause' }
  | { kind: 'resume'; more: number }
  | { kind: 'rate'; learningRate: number };

export type FromWorker =
  | { kind: 'progress'; text: string; share: number }
  | { kind: 'pca'; coordinates: Float32Array[]; shares: Float64Array; sampled: number }
  | { kind: 'layout'; y: Float32Array; iteration: number; of: number; cost: number; done: boolean }
  | { kind: 'failed'; text: string };
