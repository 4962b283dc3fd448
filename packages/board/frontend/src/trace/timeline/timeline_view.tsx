/** The lanes: titles at the left, the canvas beside them, the ruler and the overview above. */
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { themeVersion } from '../../style/theme.ts';
import { colouring, mark, showArrows, showCritical } from '../address/address_fields.ts';
import { familyOfNode } from '../data/node_families.ts';
import { found } from '../state/trace_search.ts';
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
} from '../state/trace_state.ts';
import { hovered } from './hit_test.ts';
import { HoverCard } from './hover_card.tsx';
import { Overview } from './overview.tsx';
import { LanesPointer } from './pointer_gestures.ts';
import { askForWindow, LanesCanvas, OVERVIEW_HEIGHT, RULER_HEIGHT } from './timeline_canvas.ts';
import { Corner } from './track_filter.tsx';
import { Gutter, Tall } from './track_titles.tsx';

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
