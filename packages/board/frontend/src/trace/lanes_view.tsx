/** The lanes: titles at the left, the canvas beside them, the ruler and the overview above. */
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { themeVersion } from '../style/theme.ts';
import { Corner } from './corner.tsx';
import { Gutter, Tall } from './gutter.tsx';
import { HoverCard } from './hover_card.tsx';
import { askForWindow, LanesCanvas, OVERVIEW_HEIGHT, RULER_HEIGHT } from './lanes_canvas.ts';
import { hovered } from './lanes_hit.ts';
import { LanesPointer } from './lanes_pointer.ts';
import { Overview } from './overview_bar.tsx';
import { colouring, mark, showArrows, showCritical } from './trace_address.ts';
import { familyOfNode } from './trace_families.ts';
import { found } from './trace_search.ts';
import {
  duration,
  lanesHeight,
  lanesScroll,
  lanesWidth,
  rows,
  sections,
  selectedArea,
  selectedSlice,
  shown,
  timeView,
} from './trace_state.ts';

const GUTTER = 188;

export function LanesView() {
  const outer = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const lanes = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    const [frame, scroll] = [outer.current!, scroller.current!];
    const canvas = new LanesCanvas(lanes.current!, ruler.current!, overview.current!);
    const measure = () => {
      const box = frame.getBoundingClientRect();
      const bar = scroll.offsetWidth - scroll.clientWidth;
      lanesWidth.value = Math.max(100, Math.floor(box.width - GUTTER - bar));
      lanesHeight.value = Math.floor(box.height - OVERVIEW_HEIGHT - RULER_HEIGHT);
    };
    const scrolled = () => {
      lanesScroll.value = scroll.scrollTop;
    };
    measure();
    scrolled();
    const observer = new ResizeObserver(measure);
    observer.observe(frame);
    observer.observe(scroll.firstElementChild!);
    scroll.addEventListener('scroll', scrolled, { passive: true });
    const ends = [
      new LanesPointer(canvas, scroll).listen(),
      // Plain effects: those of useSignalEffect wait for a frame before they ask for the next one.
      effect(() => {
        for (const model of shown.value) void model.header.value;
        void [timeView.value, rows.value, sections.value, lanesScroll.value];
        void [lanesWidth.value, lanesHeight.value];
        askForWindow();
      }),
      effect(() => {
        for (const model of shown.value) {
          void model.version.value;
          void model.summary.value;
        }
        void [timeView.value, rows.value, lanesScroll.value, lanesWidth.value, lanesHeight.value];
        void [colouring.value, themeVersion.value, showCritical.value, showArrows.value, found.value];
        void [selectedSlice.value, hovered.value, selectedArea.value, mark.value, duration.value];
        void familyOfNode.value;
        canvas.redraw();
      }),
    ];
    return () => {
      for (const end of ends) end();
      observer.disconnect();
      scroll.removeEventListener('scroll', scrolled);
      canvas.close();
    };
  }, []);

  return (
    <div class="trace-lanes" ref={outer}>
      <Corner />
      <Overview canvas={overview} />
      <canvas
        ref={ruler}
        class="trace-ruler"
        role="img"
        aria-label="Time ruler"
        title="Drag to select a range of time"
      />
      <div class="trace-scroll" ref={scroller}>
        <Tall>
          <Gutter />
          {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it takes keys: no picture, but an application */}
          <canvas
            ref={lanes}
            class="trace-canvas"
            tabIndex={0}
            role="application"
            aria-label="Lanes of the step"
            aria-describedby="trace-keys"
          />
        </Tall>
      </div>
      <HoverCard />
    </div>
  );
}
