/** The steps of a mesh and the geometry at one of them. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { getColumns } from '../api/client.ts';
import { numbers } from '../api/columns.ts';
import { messageOf } from '../api/error_message.ts';
import { useResponse } from '../api/use_response.ts';
import { stepFrom, stepTo } from '../state/selection.ts';
import { seriesVersion } from '../state/series_version.ts';
import { serverBoot } from '../state/server.ts';
import { nothingInRange, placesInRange } from '../state/step_range.ts';
import type { Geometry } from './mesh_geometry.ts';

export interface MeshRows {
  rows: number[];
  steps: number[];
  walls: number[];
}

export interface MeshHeader {
  step: number;
  samples: number;
  vertices: number;
  faces: number;
  notes: string[];
  /** The writer's scene configuration, in the format of three.js. */
  config: Record<string, unknown>;
}

export interface LoadedMesh {
  key: string;
  header: MeshHeader;
  geometry: Geometry;
}

const none: MeshRows = { rows: [], steps: [], walls: [] };
const MOST_KEPT_BYTES = 64e6;
const kept = new Map<string, LoadedMesh>();

interface FoundRows {
  /** Rows of the steps in the range that is selected on all charts. */
  rows: MeshRows;
  failure: string | null;
  /** A message when the range contains no step. */
  nothing: string | null;
}

export function useMeshRows(run: number, tag: number): FoundRows {
  const { response: all, failure } = useResponse((signal) => rowsOf(run, tag, signal), none, [
    run,
    tag,
    seriesVersion(tag, [run]),
  ]);
  const range = { from: stepFrom.value, to: stepTo.value };
  return useMemo(() => {
    const places = placesInRange(all.steps, range);
    const rows = places
      ? {
          rows: places.map((at) => all.rows[at]!),
          steps: places.map((at) => all.steps[at]!),
          walls: places.map((at) => all.walls[at]!),
        }
      : all;
    return { rows, failure, nothing: nothingInRange(all.rows.length, rows.rows.length, range) };
  }, [all, failure, range.from, range.to]);
}

async function rowsOf(run: number, tag: number, signal: AbortSignal): Promise<MeshRows> {
  const { row, step, wall } = (await getColumns('meshes', { run, tag }, signal)).columns;
  return { rows: [...numbers(row!)], steps: [...numbers(step!)], walls: [...numbers(wall!)] };
}

/** The geometry of a row; the previous one stays until the next is fetched. */
export function useMesh(run: number, tag: number, row: number | null, wall: number, sample: number) {
  const boot = serverBoot.value;
  const [mesh, set] = useState<LoadedMesh | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    if (row === null) return;
    const key = [run, tag, row, wall, sample, boot].join(' ');
    const known = kept.get(key);
    if (known) {
      set(known);
      setFailure(null);
      return;
    }
    const stop = new AbortController();
    getColumns<MeshHeader>('mesh', { run, tag, row, sample }, stop.signal).then(
      ({ header, columns }) => {
        const geometry: Geometry = {
          vertices: columns.vertices as Float32Array,
          faces: columns.faces as Int32Array,
          colors: columns.colors as Uint8Array,
        };
        const loaded = { key, header, geometry };
        keep(loaded);
        set(loaded);
        setFailure(null);
      },
      (error) => !stop.signal.aborted && setFailure(messageOf(error)),
    );
    return () => stop.abort();
  }, [run, tag, row, wall, sample, boot]);
  return { mesh, failure };
}

function keep(mesh: LoadedMesh): void {
  kept.set(mesh.key, mesh);
  let bytes = 0;
  for (const [key, { geometry }] of [...kept].reverse()) {
    bytes += geometry.vertices.byteLength + geometry.faces.byteLength + geometry.colors.byteLength;
    if (bytes > MOST_KEPT_BYTES && key !== mesh.key) kept.delete(key);
  }
}
