/** The Projector page: points of an embedding in two or three dimensions, with their neighbours. */
import { useEffect } from 'preact/hooks';
import { downloadCanvas } from '../picture/download.ts';
import { cameraCodec, slantCamera } from '../scene/orbit_camera.ts';
import { problems } from '../state/catalogue.ts';
import { safeText } from '../strings/safe_text.ts';
import { expose, recorded } from '../testing/test_hook.ts';
import { boxTool, camera, dimensions, method, plainCanvas } from './address/address_fields.ts';
import {
  chosen,
  colourColumn,
  embeddings,
  failure,
  followChosen,
  labelOf,
  loading,
  nameOf,
  table,
} from './data/projector_data.ts';
import { DataPanel } from './panels/data_panel.tsx';
import { PointsPanel } from './panels/points_panel.tsx';
import { focus, followSearch, matches, neighbours, picked } from './points/emphasis.ts';
import { followProjection, layout, progress } from './projection/projection.ts';
import { copyScatter, Scatter, type ScatterRecord } from './scatter/scatter_view.tsx';

const MOST_EXPOSED = 60;
const MOST_REASONS = 5;

expose('projector', () => {
  const { screen, drawn, painter = '', labels = 0 } = recorded<ScatterRecord>('scatter');
  const shown = table.value;
  const named = (point: number) => ({ row: shown?.row[point], label: labelOf(point) });
  return {
    embeddings: embeddings.value?.map(nameOf) ?? null,
    embedding: chosen.value ? nameOf(chosen.value) : null,
    points: drawn ? drawn.positions.length / 3 : 0,
    method: method.value,
    dimensions: drawn ? (drawn.flat ? 2 : 3) : null,
    painter,
    labels,
    camera: cameraCodec.encode(camera.value),
    colour: colourColumn.value?.name ?? null,
    focus: focus.value === null ? null : named(focus.value),
    neighbours: neighbours.value.map(({ index, distance }) => ({ ...named(index), distance })),
    selected: picked.value.map((point) => shown?.row[point]),
    matches: matches.value.length,
    layout: layout.value && {
      iteration: layout.value.iteration,
      of: layout.value.of,
      cost: layout.value.cost,
      done: layout.value.done,
      points: layout.value.index.length,
    },
    busy: loading.value || progress.value !== null,
    screen:
      screen && drawn
        ? Array.from({ length: Math.min(MOST_EXPOSED, screen.x.length) }, (_, at) => ({
            row: shown?.row[drawn.index ? drawn.index[at]! : at],
            x: screen.x[at],
            y: screen.y[at],
          }))
        : [],
  };
});

export default function ProjectorPage() {
  useEffect(() => {
    const ends = [followChosen(), followProjection(), followSearch()];
    return () => {
      for (const end of ends) end();
    };
  }, []);
  if (embeddings.value === null && !failure.value) return <p class="empty">Looking for embeddings …</p>;
  if (embeddings.value?.length === 0) return <NoEmbeddings />;
  return (
    <div class="pj-page">
      <DataPanel />
      <div class="pj-stage">
        <Scatter />
        {failure.value && (
          <p class="pj-message" role="alert">
            {safeText(failure.value)}
          </p>
        )}
        {!failure.value && <Stage />}
        <div class="pj-tools">
          <button
            type="button"
            class="tool"
            aria-pressed={boxTool.value}
            title="Select points by a box (B, or Shift and drag)"
            onClick={() => {
              boxTool.value = !boxTool.value;
            }}
          >
            Box
          </button>
          <button
            type="button"
            class="tool"
            title="Show all points (0)"
            onClick={() => {
              camera.value = slantCamera;
            }}
          >
            Show all
          </button>
          <button
            type="button"
            class="tool"
            aria-pressed={plainCanvas.value}
            title="Draw without the graphics card"
            onClick={() => {
              plainCanvas.value = !plainCanvas.value;
            }}
          >
            No GPU
          </button>
          <button
            type="button"
            class="tool"
            title="Save the picture as PNG"
            onClick={() => {
              const picture = copyScatter();
              if (picture) downloadCanvas(`${chosen.value?.name ?? 'points'}.png`, picture);
            }}
          >
            Save
          </button>
        </div>
      </div>
      <PointsPanel />
    </div>
  );
}

/** The progress while no points are drawn yet. */
function Stage() {
  const doing = progress.value;
  if (loading.value) return <p class="pj-message">Fetching points …</p>;
  if (doing && (method.value === 'tsne' || method.value === 'umap')) {
    const share = doing.share > 0 && doing.share < 1 ? ` ${Math.round(doing.share * 100)} %` : ' …';
    return <p class="pj-message">{`${doing.text}${share}`}</p>;
  }
  void dimensions.value;
  return null;
}

function NoEmbeddings() {
  const found = problems.value.filter((one) => one.kind === 'embedding');
  return (
    <div class="empty">
      <p>{found.length > 0 ? 'No embedding can be shown.' : 'No embeddings below the log folder.'}</p>
      {found.slice(0, MOST_REASONS).map((one) => (
        <p class="pj-reason" key={one.id}>
          <code>{safeText(one.file ?? '', 200)}</code>
          {`: ${safeText(one.text, 500)}`}
        </p>
      ))}
      <p class="pj-facts">
        The page shows what a <code>projector_config.pbtxt</code> names (TensorFlow’s and PyTorch’s{' '}
        <code>add_embedding</code> write one), and the matrices of a checkpoint that lies there.
      </p>
    </div>
  );
}
