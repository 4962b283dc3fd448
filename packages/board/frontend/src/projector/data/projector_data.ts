/** The chosen embedding: its points, labels and tiles, fetched when it is chosen. */
import { computed, effect, signal } from '@preact/signals';
import { ApiError, apiUrl, getColumns, getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { type Colouring, colouringOf, type LabelColumn } from '../../picture/label_colours.ts';
import { serverBoot } from '../../state/server.ts';
import { colourBy, labelBy, shownEmbedding } from '../address/address_fields.ts';

export interface EmbeddingInfo {
  id: number;
  run: number | null;
  folder: string;
  name: string;
  rows: number | null;
  dims: number | null;
  source: 'file' | 'checkpoint';
  /** Changes whenever any of its files changes. */
  version: string;
  metadata: boolean;
  bookmarks: boolean;
  sprite: [number, number] | null;
}

export interface PointTable {
  info: EmbeddingInfo;
  /** [count, dims]. */
  points: Float32Array<ArrayBuffer>;
  count: number;
  dims: number;
  /** The tensor row of each point, ascending. */
  row: Int32Array;
  sourceRows: number;
  sourceDims: number;
  notes: string[];
}

/** The most floats in one view. */
const MOST_FLOATS = 16e6;
const MOST_UNKNOWN = 20_000;
const MOST_POINTS = 100_000;
/** The server checks the folders every two seconds at most. */
const LIST_MS = 3000;

export const embeddings = signal<EmbeddingInfo[] | null>(null);
export const table = signal<PointTable | null>(null);
export const labels = signal<LabelColumn[]>([]);
export const labelNotes = signal<string[]>([]);
export const sprite = signal<ImageBitmap | null>(null);
export const failure = signal<string | null>(null);
export const loading = signal(false);

/** The server's number for one state of the embedding's files, valid until it restarts. */
const keyOf = ({ id, version }: EmbeddingInfo): string => `${serverBoot.value} ${id} ${version}`;

export const nameOf = (info: EmbeddingInfo): string => `${info.folder}|${info.name}`;

export const chosen = computed(() => {
  const all = embeddings.value;
  return all?.find((info) => nameOf(info) === shownEmbedding.value) ?? all?.[0] ?? null;
});

/** The point of each tensor row. */
export const pointOfRow = computed(() => {
  const found = new Map<number, number>();
  table.value?.row.forEach((row, i) => {
    found.set(row, i);
  });
  return found;
});

export const labelColumn = computed(
  () =>
    labels.value.find((c) => c.name === labelBy.value) ??
    labels.value.find((c) => !c.numeric) ??
    labels.value[0],
);

export const colourColumn = computed(() => {
  if (colourBy.value === '-') return undefined;
  const column = labels.value.find((c) => c.name === colourBy.value);
  if (column) return column;
  // A column with few distinct values makes a useful colouring; names of points do not.
  const fitting = labels.value.filter((c) => c.distinct > 1 && c.distinct <= 20);
  return fitting.find((c) => !c.numeric) ?? fitting[0];
});

export const colouring = computed<Colouring>(() => colouringOf(colourColumn.value));

export function labelOf(point: number): string {
  const text = labelColumn.value?.values[point];
  return text !== undefined && text !== '' ? text : `row ${table.value?.row[point] ?? point}`;
}

/** Fetches the chosen embedding whenever the choice changes. Returns: a function that ends this. */
export function followChosen(): () => void {
  let requested = '';
  let control: AbortController | null = null;
  // Checkpoints and tables change without a notification.
  void loadList();
  const timer = setInterval(() => {
    if (!document.hidden) void loadList();
  }, LIST_MS);
  const endTable = effect(() => {
    const info = chosen.value;
    const key = info ? keyOf(info) : '';
    if (key === requested) return;
    requested = key;
    control?.abort();
    if (!info) return;
    control = new AbortController();
    void loadTable(info, control.signal);
  });
  return () => {
    clearInterval(timer);
    endTable();
    control?.abort();
  };
}

let listed = '';

async function loadList(): Promise<void> {
  try {
    const reply = await getJson<{ embeddings: EmbeddingInfo[] }>('embeddings');
    const text = JSON.stringify(reply.embeddings);
    if (text !== listed || embeddings.peek() === null) embeddings.value = reply.embeddings;
    listed = text;
  } catch (error) {
    if (embeddings.peek() === null) failure.value = messageOf(error);
  }
}

let shownKey = '';

async function loadTable(info: EmbeddingInfo, signal: AbortSignal): Promise<void> {
  const most = info.dims
    ? Math.max(1, Math.min(MOST_POINTS, Math.floor(MOST_FLOATS / Math.min(512, info.dims))))
    : MOST_UNKNOWN;
  const key = keyOf(info);
  if (shownKey === key && table.peek() && !failure.peek()) {
    loading.value = false; // the request for another embedding was superseded
    return;
  }
  loading.value = true;
  failure.value = null;
  try {
    const [points, metadata, image] = await Promise.all([
      getColumns<{ rows: number; source_dims: number; dims: number; sent: number; notes: string[] }>(
        'embedding',
        { id: info.id, most },
        signal,
      ),
      info.metadata ? loadLabels(info.id, most, signal) : { columns: [], notes: [] },
      info.sprite ? loadSprite(info.id, signal) : { image: null, notes: [] },
    ]);
    if (signal.aborted) return;
    const { header, columns } = points;
    labels.value = metadata.columns;
    labelNotes.value = [...metadata.notes, ...image.notes];
    sprite.value = image.image;
    shownKey = key;
    table.value = {
      info,
      points: columns.points as Float32Array<ArrayBuffer>,
      count: header.sent,
      dims: header.dims,
      row: columns.row as Int32Array,
      sourceRows: header.rows,
      sourceDims: header.source_dims,
      notes: header.notes,
    };
  } catch (error) {
    if (signal.aborted) return;
    table.value = null;
    labels.value = [];
    sprite.value = null;
    failure.value = messageOf(error);
  } finally {
    if (!signal.aborted) loading.value = false;
  }
}

async function loadLabels(id: number, most: number, signal: AbortSignal) {
  try {
    const reply = await getJson<{
      columns: { name: string; numeric: boolean; distinct: number }[];
      values: string[][];
      notes: string[];
    }>('embedding/metadata', { id, most }, signal);
    return { columns: reply.columns.map((c, i) => ({ ...c, values: reply.values[i]! })), notes: reply.notes };
  } catch (error) {
    return { columns: [], notes: [`No labels: ${messageOf(error)}.`] };
  }
}

async function loadSprite(id: number, signal: AbortSignal) {
  try {
    const response = await fetch(apiUrl('embedding/sprite', { id }), { signal });
    if (!response.ok)
      throw new ApiError(response.status, ((await response.json()) as { error: string }).error);
    return { image: await createImageBitmap(await response.blob()), notes: [] };
  } catch (error) {
    return { image: null, notes: [`No tiles: ${messageOf(error)}.`] };
  }
}
