/** Parallel coordinates: a line per session through all columns; dragging along an axis is a condition. */
import { useMemo, useState } from 'preact/hooks';
import { CanvasView } from '../histograms/canvas_view.tsx';
import { isLight } from '../histograms/colour_mix.ts';
import { paletteNow } from '../histograms/palette.ts';
import { safeText } from '../shell/safe_text.ts';
import { hoveredRun } from '../state/selection.ts';
import { type Axis, axisOf, axisTicks, brushPlace, brushText, placeOf } from './axis.ts';
import { setFilter } from './brushing.ts';
import { scaleColour } from './colour_scale.ts';
import { filters, flippedScales, metRows, shownColumns, table, targetColumn } from './hparams_view.ts';
import type { Column } from './model.ts';

const TOP = 44;
const BOTTOM = 16;
const SIDE = 70;
const REACH = 24;
const NO_VALUE = 12; // below the axis: where lines go that have no value there

export function ParallelView({ width, height }: { width: number; height: number }) {
  const columns = shownColumns.value.filter(varies);
  const palette = paletteNow();
  const dark = !isLight(palette.surface);
  const [drag, setDrag] = useState<{ axis: number; from: number; to: number } | null>(null);
  const axes = useMemo(
    () => columns.map((column) => axisOf(column, flippedScales.value.includes(column.id))),
    [columns.map((c) => c.id).join(), flippedScales.value, table.value],
  );
  const gap = axes.length > 1 ? (width - 2 * SIDE) / (axes.length - 1) : 0;
  const xOf = (axis: number) => (axes.length > 1 ? SIDE + gap * axis : width / 2);
  const tall = height - TOP - BOTTOM - NO_VALUE;
  const yOf = (place: number | null) => (place === null ? height - BOTTOM : TOP + tall * (1 - place));
  const target = targetColumn.value;
  const colourAxis = target ? axisOf(target, flippedScales.value.includes(target.id)) : null;
  const met = new Set(metRows.value);
  const hovered = hoveredRun.value;
  const said = filters.value;

  const draw = useMemo(
    () => (on: CanvasRenderingContext2D) => {
      on.fillStyle = palette.surface;
      on.fillRect(0, 0, width, height);
      const line = (row: number) => {
        on.beginPath();
        axes.forEach((axis, i) => {
          const y = yOf(placeOf(axis, axis.column.cells[row]!));
          if (i === 0) on.moveTo(xOf(i), y);
          else on.bezierCurveTo(xOf(i) - gap * 0.35, before, xOf(i - 1) + gap * 0.65, y, xOf(i), y);
          before = y;
        });
        on.stroke();
      };
      let before = 0;
      const rows = table.value.runs.map((_, row) => row);
      on.lineWidth = 1;
      on.globalAlpha = 0.5;
      on.strokeStyle = palette.line;
      for (const row of rows) if (!met.has(row)) line(row);
      on.globalAlpha = rows.length > 200 ? 0.55 : 0.85;
      on.lineWidth = 1.5;
      for (const row of rows) {
        if (!met.has(row)) continue;
        const place = colourAxis && placeOf(colourAxis, colourAxis.column.cells[row]!);
        on.strokeStyle = scaleColour(place, dark, palette.faint);
        line(row);
      }
      on.globalAlpha = 1;
      const lit = table.value.runs.indexOf(hovered ?? -1);
      if (lit >= 0) {
        on.lineWidth = 4.5;
        on.strokeStyle = palette.surface;
        line(lit);
        on.lineWidth = 2.5;
        on.strokeStyle = palette.text;
        line(lit);
      }
      for (const [i, axis] of axes.entries()) drawAxis(on, axis, xOf(i), i);
    },
    [axes, said, met.size, colourAxis?.column.id, palette.surface, width, height, hovered, drag],
  );

  function drawAxis(on: CanvasRenderingContext2D, axis: Axis, x: number, i: number): void {
    on.strokeStyle = palette.text;
    on.globalAlpha = 0.5;
    on.lineWidth = 1;
    on.beginPath();
    on.moveTo(Math.round(x) + 0.5, TOP);
    on.lineTo(Math.round(x) + 0.5, TOP + tall);
    on.stroke();
    on.globalAlpha = 1;
    on.font = `10.5px ${palette.font}`;
    on.textAlign = 'left';
    on.textBaseline = 'middle';
    for (const { place, label } of axisTicks(axis, tall / 36)) {
      const y = yOf(place);
      on.strokeStyle = palette.faint;
      on.beginPath();
      on.moveTo(x, Math.round(y) + 0.5);
      on.lineTo(x + 4, Math.round(y) + 0.5);
      on.stroke();
      const text = shortened(safeText(label, 60), 14);
      on.lineWidth = 3;
      on.strokeStyle = palette.surface;
      on.strokeText(text, x + 7, y);
      on.lineWidth = 1;
      on.fillStyle = palette.faint;
      on.fillText(text, x + 7, y);
    }
    const stretch =
      drag?.axis === i
        ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]
        : brushPlace(axis, said[axis.column.id] ?? '');
    if (!stretch) return;
    const [from, to] = stretch as [number, number];
    const y = yOf(to) - 1;
    const h = Math.max(3, yOf(from) - yOf(to) + 2);
    on.fillStyle = palette.accent;
    on.globalAlpha = 0.22;
    on.fillRect(x - 7, y, 14, h);
    on.globalAlpha = 1;
    on.strokeStyle = palette.accent;
    on.lineWidth = 1.5;
    on.strokeRect(x - 7, y, 14, h);
  }

  const axisAt = (x: number) => {
    const i = gap ? Math.round((x - SIDE) / gap) : 0;
    return i >= 0 && i < axes.length && Math.abs(x - xOf(i)) <= REACH ? i : -1;
  };
  const placeAt = (y: number) => Math.max(0, Math.min(1, 1 - (y - TOP) / tall));
  const nearest = (x: number, y: number): number | null => {
    const i = gap ? Math.max(0, Math.min(axes.length - 2, Math.floor((x - SIDE) / gap))) : 0;
    const left = axes[i];
    const right = axes[i + 1];
    if (!left || !right) return null;
    const t = (x - xOf(i)) / gap;
    const eased = t * t * (3 - 2 * t);
    let best: number | null = null;
    let distance = 9;
    for (const row of metRows.value) {
      const a = yOf(placeOf(left, left.column.cells[row]!));
      const b = yOf(placeOf(right, right.column.cells[row]!));
      const away = Math.abs(a + (b - a) * eased - y);
      if (away < distance) {
        distance = away;
        best = table.value.runs[row]!;
      }
    }
    return best;
  };

  if (axes.length === 0) return <p class="card-note">No column differs between the sessions.</p>;
  return (
    <div class="parallel" style={{ width: `${width}px`, height: `${height}px` }}>
      <CanvasView
        width={width}
        height={height}
        draw={draw}
        class="crosshair"
        label={`Parallel coordinates of ${axes.length} columns, ${metRows.value.length} of ${table.value.runs.length} sessions. The fields above the table set the same conditions by keyboard.`}
        onMove={(x, y) => {
          if (drag) setDrag({ ...drag, to: placeAt(y) });
          else hoveredRun.value = axisAt(x) < 0 ? nearest(x, y) : null;
        }}
        onLeave={() => {
          hoveredRun.value = null;
        }}
        onPress={(x, y) => {
          const axis = axisAt(x);
          if (axis >= 0 && y > TOP - 10) setDrag({ axis, from: placeAt(y), to: placeAt(y) });
        }}
        onRelease={() => {
          if (!drag) return;
          const axis = axes[drag.axis]!;
          const moved = Math.abs(drag.from - drag.to) * tall > 3;
          // A click takes the condition away.
          setFilter(axis.column.id, moved ? brushText(axis, drag.from, drag.to) : '');
          setDrag(null);
        }}
      />
      {axes.map((axis, i) => (
        <AxisTitle key={axis.column.id} axis={axis} x={xOf(i)} room={Math.max(60, gap || width)} />
      ))}
    </div>
  );
}

function AxisTitle({ axis, x, room }: { axis: Axis; x: number; room: number }) {
  const { column } = axis;
  const title = safeText(column.title, 80);
  const can = column.kind === 'number' && axis.lo > 0 && axis.hi > axis.lo;
  return (
    <button
      type="button"
      class={`axis-title ${column.role}`}
      style={{ left: `${x - room / 2}px`, width: `${room}px` }}
      disabled={!can}
      title={`${title}${column.description ? `: ${safeText(column.description, 300)}` : ''}${can ? (axis.log ? '\nlogarithmic; press for linear' : '\nlinear; press for logarithmic') : ''}`}
      onClick={() => {
        const old = flippedScales.value;
        flippedScales.value = old.includes(column.id)
          ? old.filter((id) => id !== column.id)
          : [...old, column.id];
      }}
    >
      {title}
      {axis.log && <span class="faint"> log</span>}
    </button>
  );
}

export function varies(column: Column): boolean {
  return new Set(column.cells).size > 1;
}

export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
