/** Parallel coordinates: a line per session through all columns; dragging along an axis is a condition. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CanvasView } from '../picture/canvas_view.tsx';
import { isLight } from '../picture/colour_mix.ts';
import { paletteNow } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { hoveredRun } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { type Axis, axisOf, brushPlace, brushText } from './axis.ts';
import { moved } from './axis_order.ts';
import { setFilter } from './brushing.ts';
import {
  axisOrder,
  filters,
  flippedScales,
  metRows,
  rowOfRun,
  shownColumns,
  table,
  targetColumn,
} from './hparams_view.ts';
import { varies } from './model.ts';
import { drawParallel, ParallelFrame } from './parallel_draw.ts';
import { offerPicture } from './saved_picture.ts';

export function ParallelView({ width, height }: { width: number; height: number }) {
  const columns = shownColumns.value.filter(varies);
  const palette = paletteNow();
  const dark = !isLight(palette.surface);
  const [drag, setDrag] = useState<{ axis: number; from: number; to: number } | null>(null);
  const [shifted, setShifted] = useState<{ axis: number; by: number } | null>(null);
  const order = columns.map((c) => c.id);
  const flipped = flippedScales.value;
  const axes = useMemo(
    () => columns.map((column) => axisOf(column, flipped.includes(column.id))),
    [order.join(), flipped, table.value],
  );
  const frame = useMemo(() => new ParallelFrame(axes, width, height), [axes, width, height]);
  const target = targetColumn.value;
  const colourAxis = target ? axisOf(target, flipped.includes(target.id)) : null;
  const met = metRows.value;
  const hovered = hoveredRun.value;
  const conditions = filters.value;
  const lit = hovered === null ? null : (rowOfRun.value.get(hovered) ?? null);

  const draw = useMemo(() => {
    const look = { rows: table.value.runs.length, met: new Set(met), colourAxis, dark };
    const stretchOf = (axis: Axis, i: number): [number, number] | null =>
      drag?.axis === i
        ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]
        : brushPlace(axis, conditions[axis.column.id] ?? '');
    return (on: Surface, titled = false) =>
      drawParallel(on, frame, { ...look, lit: titled ? null : lit, stretchOf, titled }, palette);
  }, [frame, conditions, met, colourAxis?.column.id, colourAxis?.log, palette.surface, lit, drag]);
  useEffect(() => offerPicture({ width, height, draw: (on) => draw(on, true) }), [draw, width, height]);
  const paint = useMemo(() => (on: CanvasRenderingContext2D) => draw(on), [draw]);

  if (axes.length === 0) return <p class="card-note">No column differs between the sessions.</p>;
  const moveAxis = (axis: number, place: number) => {
    axisOrder.value = moved(order, order[axis]!, place);
  };
  return (
    <div class="parallel" style={{ width: `${width}px`, height: `${height}px` }}>
      <CanvasView
        width={width}
        height={height}
        draw={paint}
        class="crosshair"
        label={`Parallel coordinates of ${axes.length} columns, ${met.length} of ${table.value.runs.length} sessions. The fields above the table set the same conditions by keyboard.`}
        onMove={(x, y) => {
          if (drag) setDrag({ ...drag, to: frame.placeAt(y) });
          else {
            const row = frame.axisAt(x) < 0 ? frame.rowNear(met, x, y) : null;
            hoveredRun.value = row === null ? null : table.value.runs[row]!;
          }
        }}
        onLeave={() => {
          hoveredRun.value = null;
        }}
        onPress={(x, y) => {
          const axis = frame.axisAt(x);
          if (axis >= 0 && frame.isOnAxis(y)) {
            setDrag({ axis, from: frame.placeAt(y), to: frame.placeAt(y) });
          }
        }}
        onRelease={() => {
          if (!drag) return;
          const axis = axes[drag.axis]!;
          const far = Math.abs(drag.from - drag.to) * frame.tall > 3;
          // A click takes the condition away.
          setFilter(axis.column.id, far ? brushText(axis, drag.from, drag.to) : '');
          setDrag(null);
        }}
      />
      {axes.map((axis, i) => (
        <AxisTitle
          key={axis.column.id}
          axis={axis}
          x={frame.xOf(i) + (shifted?.axis === i ? shifted.by : 0)}
          room={Math.max(60, frame.gap || width)}
          held={shifted?.axis === i}
          onShift={(by) => setShifted({ axis: i, by })}
          onDrop={(by) => {
            setShifted(null);
            moveAxis(i, frame.nearestAxis(frame.xOf(i) + by));
          }}
          onStep={(by) => moveAxis(i, i + by)}
          onCancel={() => setShifted(null)}
        />
      ))}
    </div>
  );
}

interface AxisTitleProps {
  axis: Axis;
  x: number;
  room: number;
  held: boolean;
  onShift: (by: number) => void;
  onDrop: (by: number) => void;
  onStep: (by: number) => void;
  onCancel: () => void;
}

/** So many pixels are a drag and no press. */
const DRAGGED = 5;

function AxisTitle({ axis, x, room, held, onShift, onDrop, onStep, onCancel }: AxisTitleProps) {
  const { column } = axis;
  const from = useRef<number | null>(null);
  const dragged = useRef(false);
  const title = safeText(column.title, 80);
  const can = column.kind === 'number' && axis.lo > 0 && axis.hi > axis.lo;
  const scale = can ? (axis.log ? '\nlogarithmic; press for linear' : '\nlinear; press for logarithmic') : '';
  return (
    <button
      type="button"
      class={`axis-title ${column.role}${held ? ' held' : ''}`}
      style={{ left: `${x - room / 2}px`, width: `${room}px` }}
      title={`${title}${column.description ? `: ${safeText(column.description, 300)}` : ''}${scale}\ndrag it, or Alt and an arrow key, to move the axis`}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = event.clientX;
        dragged.current = false;
      }}
      onPointerMove={(event) => {
        if (from.current === null) return;
        const by = event.clientX - from.current;
        if (Math.abs(by) > DRAGGED) dragged.current = true;
        if (dragged.current) onShift(by);
      }}
      onPointerUp={(event) => {
        if (from.current !== null && dragged.current) onDrop(event.clientX - from.current);
        from.current = null;
      }}
      onPointerCancel={() => {
        from.current = null;
        onCancel();
      }}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (!event.altKey || !by) return;
        event.preventDefault();
        onStep(by);
      }}
      onClick={() => {
        if (dragged.current || !can) {
          dragged.current = false;
          return;
        }
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
