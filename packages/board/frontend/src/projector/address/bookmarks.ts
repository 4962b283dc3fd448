/** Views that TensorBoard's projector saved: a list of states in a file that the config names. */
import { type Camera, frontCamera, turned } from '../../scene/orbit_camera.ts';

/** The fields of a state that this projector has; missing fields keep their value. */
export interface BookmarkedView {
  title: string;
  method?: 'pca' | 'tsne' | 'umap' | 'custom';
  dimensions?: '2' | '3';
  components?: number[];
  perplexity?: number;
  learningRate?: number;
  neighbours?: number;
  /** Rows of the tensor. */
  selected?: number[];
  colourBy?: string;
  labelBy?: string;
  camera?: Camera;
  /** The words at the left, right, bottom and top of custom axes. */
  words?: string[];
}

/** The views of a file; entries that are malformed are skipped. */
export function bookmarkedViews(saved: unknown): BookmarkedView[] {
  const list = Array.isArray(saved) ? saved : [];
  return list.flatMap((state: unknown, i): BookmarkedView[] =>
    typeof state === 'object' && state !== null ? [viewOf(state as Record<string, unknown>, i)] : [],
  );
}

function viewOf(state: Record<string, unknown>, place: number): BookmarkedView {
  const view: BookmarkedView = { title: textOf(state.label) || `Bookmark ${place + 1}` };
  const method = state.selectedProjection;
  if (method === 'pca' || method === 'tsne' || method === 'umap' || method === 'custom') view.method = method;
  const flat = method === 'tsne' ? state.tSNEis3d : method === 'umap' ? state.umapIs3d : undefined;
  if (typeof flat === 'boolean') view.dimensions = flat ? '3' : '2';
  const components = numbersOf(state.pcaComponentDimensions).filter((c) => c >= 0 && c < 10);
  if (components.length >= 2) {
    view.components = [...components, 2].slice(0, 3);
    if (method === 'pca') view.dimensions = components.length === 2 ? '2' : '3';
  }
  const perplexity = numberOf(state.tSNEPerplexity);
  if (perplexity !== null) view.perplexity = Math.max(2, Math.min(100, perplexity));
  const rate = numberOf(state.tSNELearningRate);
  if (rate !== null) view.learningRate = Math.max(0, Math.min(10_000, rate));
  const neighbours = numberOf(state.umapNeighbors);
  if (neighbours !== null) view.neighbours = Math.max(2, Math.min(100, Math.round(neighbours)));
  if (Array.isArray(state.selectedPoints)) view.selected = numbersOf(state.selectedPoints);
  if (textOf(state.selectedColorOptionName)) view.colourBy = textOf(state.selectedColorOptionName);
  if (textOf(state.selectedLabelOption)) view.labelBy = textOf(state.selectedLabelOption);
  const words = [state.customXLeftText, state.customXRightText, state.customYDownText, state.customYUpText];
  if (words.some((word) => textOf(word) !== '')) view.words = words.map(textOf);
  const camera = cameraOf(state.cameraDef);
  if (camera) view.camera = camera;
  return view;
}

/** The viewing direction of a state; its distances have other units. */
function cameraOf(value: unknown): Camera | null {
  if (typeof value !== 'object' || value === null) return null;
  const { position, target } = value as Record<string, unknown>;
  const [from, to] = [numbersOf(position), numbersOf(target)];
  if (from.length !== 3) return null;
  const [x, y, z] = from.map((value, k) => value - (to[k] ?? 0)) as [number, number, number];
  const distance = Math.hypot(x, y, z);
  return distance > 0 ? turned(frontCamera, Math.atan2(x, z), Math.asin(y / distance)) : null;
}

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
const numbersOf = (value: unknown): number[] =>
  Array.isArray(value) ? value.filter((one): one is number => Number.isFinite(one)) : [];
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
