/** The timeline: track titles at the left, the canvas beside them, ruler and overview above. */
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { themeVersion } from '../../style/theme.ts';
import { colouring, mark, showArrows, showCritical } from '../address/address_fields.ts';
import { familyOfNode } from '../data/node_families.ts';
import { found } from '../state/trace_search.ts';
import {
  duration,
  rows,
  sections,
  selectedArea,
  selectedSlice,
  shown,
  timelineHeight,
  timelineScroll,
  timelineWidth,
  timeView,
} from '../state/trace_state.ts';
import { hovered } from './hit_test.ts';
import { HoverCard } from './hover_card.tsx';
import { Overview } from './overview.tsx';
import { PointerGestures } from './pointer_gestures.ts';
import { OVERVIEW_HEIGHT, RULER_HEIGHT, requestWindows, TimelineCanvas } from './timeline_canvas.ts';
import { TrackFilter } from './track_filter.tsx';
import { ScrollArea, TrackTitles } from './track_titles.tsx';

const GUTTER = 188;

export function TimelineView() {
  const outer = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const lanes = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    const [frame, scroll] = [outer.current!, scroller.current!];
    const canvas = new TimelineCanvas(lanes.current!, ruler.current!, overview.current!);
    const measure = () => {
      const box = frame.getBoundingClientRect();
      const bar = scroll.offsetWidth - scroll.clientWidth;
      timelineWidth.value = Math.max(100, Math.floor(box.width - GUTTER - bar));
      timelineHeight.value = Math.floor(box.height - OVERVIEW_HEIGHT - RULER_HEIGHT);
    };
    const scrolled = () => {
      timelineScroll.value = scroll.scrollTop;
    };
    measure();
    scrolled();
    const observer = new ResizeObserver(measure);
    observer.observe(frame);
    observer.observe(scroll.firstElementChild!);
    scroll.addEventListener('scroll', scrolled, { passive: true });
    const ends = [
      new PointerGestures(canvas, scroll).listen(),
      // Plain effects run at once; useSignalEffect waits for a frame, and drawing for another.
      effect(() => {
        for (const model of shown.value) void model.header.value;
        void [timeView.value, rows.value, sections.value, timelineScroll.value];
        void [timelineWidth.value, timelineHeight.value];
        requestWindows();
      }),
      effect(() => {
        for (const model of shown.value) {
          void model.version.value;
          void model.summary.value;
        }
        void [timeView.value, rows.value, timelineScroll.value, timelineWidth.value, timelineHeight.value];
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
    <div class="trace-timeline" ref={outer}>
      <TrackFilter />
      <Overview canvas={overview} />
      <canvas
        ref={ruler}
        class="trace-ruler"
        role="img"
        aria-label="Time ruler"
        title="Drag to select a range of time"
      />
      <div class="trace-scroll" ref={scroller}>
        <ScrollArea>
          <TrackTitles />
          {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it takes keys: no picture, but an application */}
          <canvas
            ref={lanes}
            class="trace-canvas"
            tabIndex={0}
            role="application"
            aria-label="Timeline of the step"
            aria-describedby="trace-keys"
          />
        </ScrollArea>
      </div>
      <HoverCard />
    </div>
  );
}
