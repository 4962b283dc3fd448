/** A chart of lines: two canvases, one for the lines and one for what follows the pointer. */
import { useRef } from 'preact/hooks';
import { safeText } from '../strings/safe_text.ts';
import { chartActions } from './chart_actions.ts';
import { chartKeys } from './chart_keys.ts';
import type { ChartView, Curve, Span } from './chart_model.ts';
import type { Drag } from './draw_overlay.ts';
import { ReadableTable } from './readable_table.tsx';
import { useChartCanvas } from './use_chart_canvas.ts';
import { useChartPointer } from './use_chart_pointer.ts';

export interface LineChartProps {
  id: string;
  title: string;
  curves: Curve[];
  view: ChartView;
  /** Charts with the same axis share the cross-hair. */
  axis: string;
  width: number;
  height: number;
  /** Fetches the curves with as many points as the server gives, for pictures that are saved. */
  inFull?: () => Promise<Curve[]>;
  /** y is null where only x was chosen. */
  onZoom(x: Span, y: Span | null): void;
  onReset(): void;
}

export function LineChart(props: LineChartProps) {
  const { title, curves, axis, onZoom, onReset } = props;
  const element = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | null>(null);
  const { shown, lines, overlay, repaintOverlay } = useChartCanvas(props, drag);
  const actions = chartActions({ chart: shown, axis, anchor: () => element.current!, onZoom });
  const pointer = useChartPointer({
    chart: shown,
    axis,
    element,
    drag,
    actions,
    repaintOverlay,
    onZoom,
    onReset,
  });
  return (
    <>
      <div
        ref={element}
        class="chart"
        role="application"
        aria-roledescription="chart"
        aria-label={`${safeText(title, 200)}: ${curves.length} curves. Arrows move the cross-hair, plus and minus zoom, 0 resets.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it handles keys
        tabIndex={0}
        {...pointer}
        onFocus={() => {
          element.current!.dataset.focus = '1';
        }}
        onBlur={() => {
          if (element.current) delete element.current.dataset.focus;
          if (!actions.isPinned()) actions.leave();
        }}
        onKeyDown={chartKeys({ chart: shown, axis, actions, onReset })}
      >
        <canvas ref={lines} />
        <canvas ref={overlay} class="over" />
      </div>
      <ReadableTable title={title} curves={curves} />
    </>
  );
}
