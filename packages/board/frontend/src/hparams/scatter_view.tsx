/** A matrix of scatter plots: each hyperparameter against each metric. */
import { useEffect, useMemo } from 'preact/hooks';
import { CanvasView } from '../picture/canvas_view.tsx';
import { isLight } from '../picture/colour_mix.ts';
import { paletteNow } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { hoveredRun } from '../state/selection.ts';
import { axisOf } from './axis.ts';
import {
  filters,
  flippedScales,
  metRows,
  rowOfRun,
  shownColumns,
  table,
  targetColumn,
} from './hparams_view.ts';
import { type Column, varies } from './model.ts';
import { offerPicture } from './saved_picture.ts';
import { columnsThatFit, drawScatter, rowAt, ScatterFrame } from './scatter_draw.ts';

const MOST_DOWN = 12;

export function ScatterView({ width, height }: { width: number; height: number }) {
  const palette = paletteNow();
  const columns = shownColumns.value.filter(varies);
  const params = columns.filter((column) => column.role === 'param');
  const metrics = columns.filter((column) => column.role === 'metric');
  const across = params.slice(0, columnsThatFit(width));
  const down = metrics.slice(0, MOST_DOWN);
  const flipped = flippedScales.value;
  const frame = useMemo(() => {
    const axes = (of: Column[]) => of.map((column) => axisOf(column, flipped.includes(column.id)));
    return new ScatterFrame(axes(across), axes(down), width, height);
  }, [table.value, flipped, columns.map((column) => column.id).join(), width, height]);
  const points = useMemo(() => frame.points(table.value.runs.length), [frame]);
  const met = metRows.value;
  const hovered = hoveredRun.value;
  const target = targetColumn.value;
  const draw = useMemo(() => {
    const look = {
      met: new Set(met),
      lit: hovered === null ? null : (rowOfRun.value.get(hovered) ?? null),
      colourAxis: target && axisOf(target, flipped.includes(target.id)),
      dark: !isLight(palette.surface),
    };
    return (on: Surface) => drawScatter(on, frame, points, look, palette);
  }, [points, filters.value, met, hovered, target?.id, palette.surface]);
  useEffect(() => offerPicture({ width, height: frame.height, draw }), [draw, width, frame.height]);
  if (!across.length || !down.length) {
    return <p class="card-note">A scatter matrix needs a hyperparameter and a metric that differ.</p>;
  }
  const left = [
    leftOut(across.length, params.length, 'hyperparameters'),
    leftOut(down.length, metrics.length, 'metrics'),
  ].filter(Boolean);
  return (
    <>
      <CanvasView
        width={width}
        height={frame.height}
        draw={draw}
        label={`Scatter plots of ${across.length} hyperparameters against ${down.length} metrics`}
        onMove={(x, y) => {
          const row = rowAt(points, x, y);
          hoveredRun.value = row === null ? null : table.value.runs[row]!;
        }}
        onLeave={() => {
          hoveredRun.value = null;
        }}
      />
      {left.length > 0 && (
        <p class="card-note">{left.join(' and ')} are drawn; hide columns to make room for others.</p>
      )}
    </>
  );
}

const leftOut = (shown: number, all: number, what: string): string =>
  shown < all ? `${shown} of ${all} ${what}` : '';
