/** A matrix of scatter plots: each hyperparameter against each metric. */
import { useEffect, useMemo } from 'preact/hooks';
import { CanvasView } from '../picture/canvas_view.tsx';
import { isLight } from '../picture/colour_mix.ts';
import { paletteNow } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { hoveredRun } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { axisOf, axisTicks, placeOf } from './axis.ts';
import { scaleColour } from './colour_scale.ts';
import {
  filters,
  flippedScales,
  metRows,
  rowOfRun,
  shownColumns,
  table,
  targetColumn,
} from './hparams_view.ts';
import { varies } from './parallel_view.tsx';
import { offerPicture } from './saved_picture.ts';
import { shortened } from './shortened.ts';

const LEFT = 64;
const BOTTOM = 34;
const GAP = 14;
/** Cells narrower than this tell nothing. */
const LEAST_WIDTH = 70;
const MOST_DOWN = 12;

export function ScatterView({ width, height }: { width: number; height: number }) {
  const palette = paletteNow();
  const dark = !isLight(palette.surface);
  const columns = shownColumns.value.filter(varies);
  const params = columns.filter((column) => column.role === 'param');
  const metrics = columns.filter((column) => column.role === 'metric');
  const across = params.slice(0, Math.max(1, Math.floor((width - LEFT - GAP) / LEAST_WIDTH)));
  const down = metrics.slice(0, MOST_DOWN);
  const flipped = flippedScales.value;
  const axes = useMemo(
    () => ({
      x: across.map((column) => axisOf(column, flipped.includes(column.id))),
      y: down.map((column) => axisOf(column, flipped.includes(column.id))),
    }),
    [table.value, flipped, columns.map((c) => c.id).join()],
  );
  const cellW = (width - LEFT - GAP) / Math.max(1, across.length);
  const cellH = Math.max(110, (height - BOTTOM - GAP) / Math.max(1, down.length));
  const full = cellH * down.length + BOTTOM + GAP;
  const met = metRows.value;
  const hovered = hoveredRun.value;
  const target = targetColumn.value;
  const colourAxis = target && axisOf(target, flipped.includes(target.id));

  const xAt = (i: number, place: number) => LEFT + cellW * i + GAP / 2 + 8 + (cellW - GAP - 16) * place;

  /** Every point: place on the canvas and row. */
  const points = useMemo(
    () =>
      axes.y.flatMap((y, j) =>
        axes.x.flatMap((x, i) =>
          table.value.runs.flatMap((_, row) => {
            const px = placeOf(x, x.column.cells[row]!);
            const py = placeOf(y, y.column.cells[row]!);
            if (px === null || py === null) return [];
            const top = GAP + cellH * j;
            return [
              {
                x: xAt(i, px),
                y: top + 6 + (cellH - GAP - 12) * (1 - py),
                row,
              },
            ];
          }),
        ),
      ),
    [axes, cellW, cellH],
  );
  const draw = useMemo(
    () => (on: Surface) => {
      on.fillStyle = palette.surface;
      on.fillRect(0, 0, width, full);
      on.font = `10.5px ${palette.font}`;
      axes.y.forEach((y, j) => {
        const top = GAP + cellH * j;
        axes.x.forEach((x, i) => {
          const left = LEFT + cellW * i + GAP / 2;
          on.strokeStyle = palette.grid;
          on.lineWidth = 1;
          on.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, cellW - GAP, cellH - GAP);
          if (j === axes.y.length - 1) {
            on.fillStyle = palette.faint;
            on.textAlign = 'center';
            on.textBaseline = 'top';
            let free = 0;
            for (const { place, label } of axisTicks(x, cellW / 60)) {
              const text = shortened(safeText(label, 40), 10);
              const at = xAt(i, place);
              const half = on.measureText(text).width / 2;
              if (at - half < free) continue;
              on.fillText(text, at, top + cellH - GAP + 4);
              free = at + half + 6;
            }
            on.fillStyle = palette.text;
            on.fillText(
              shortened(safeText(x.column.title, 60), Math.floor(cellW / 7)),
              left + (cellW - GAP) / 2,
              top + cellH - GAP + 19,
            );
          }
        });
        on.fillStyle = palette.faint;
        on.textAlign = 'right';
        on.textBaseline = 'middle';
        for (const { place, label } of axisTicks(y, cellH / 40)) {
          on.fillText(shortened(label, 9), LEFT, top + 6 + (cellH - GAP - 12) * (1 - place));
        }
        on.fillStyle = palette.text;
        on.save();
        on.translate(10, top + (cellH - GAP) / 2);
        on.rotate(-Math.PI / 2);
        on.textAlign = 'center';
        on.fillText(shortened(safeText(y.column.title, 60), Math.floor(cellH / 7)), 0, 0);
        on.restore();
      });
      const chosen = new Set(met);
      const dot = (x: number, y: number, r: number, fill: string) => {
        on.beginPath();
        on.arc(x, y, r, 0, Math.PI * 2);
        on.fillStyle = fill;
        on.fill();
      };
      for (const point of points) if (!chosen.has(point.row)) dot(point.x, point.y, 2, palette.line);
      on.globalAlpha = 0.85;
      for (const point of points) {
        if (!chosen.has(point.row)) continue;
        const place = colourAxis && placeOf(colourAxis, colourAxis.column.cells[point.row]!);
        dot(point.x, point.y, 3.25, scaleColour(place, dark, palette.faint));
      }
      on.globalAlpha = 1;
      const lit = hovered === null ? -1 : (rowOfRun.value.get(hovered) ?? -1);
      for (const point of points) {
        if (point.row !== lit) continue;
        dot(point.x, point.y, 6, palette.surface);
        dot(point.x, point.y, 4.5, palette.text);
      }
    },
    [points, filters.value, met, hovered, colourAxis?.column.id, palette.surface, width, full],
  );
  useEffect(() => offerPicture({ width, height: full, draw }), [draw, width, full]);
  if (!across.length || !down.length) {
    return <p class="card-note">A scatter matrix needs a hyperparameter and a metric that differ.</p>;
  }
  const some = (shown: number, all: number, what: string) =>
    shown < all ? `${shown} of ${all} ${what}` : '';
  const left = [
    some(across.length, params.length, 'hyperparameters'),
    some(down.length, metrics.length, 'metrics'),
  ].filter(Boolean);
  return (
    <>
      <CanvasView
        width={width}
        height={full}
        draw={draw}
        label={`Scatter plots of ${across.length} hyperparameters against ${down.length} metrics`}
        onMove={(x, y) => {
          let best: number | null = null;
          let distance = 10;
          for (const point of points) {
            const away = Math.hypot(point.x - x, point.y - y);
            if (away < distance) {
              distance = away;
              best = table.value.runs[point.row]!;
            }
          }
          hoveredRun.value = best;
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
