/** The cards of the Metrics page; only those in sight are in the document. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { PINNED } from './card_list.ts';
import { scrolled } from './grid_address.ts';
import { CardItem, HeadingItem, PanelItem } from './grid_item.tsx';
import { inSight } from './grid_layout.ts';
import { gridWidth, layout, shownSections } from './grid_state.ts';

/** Beyond the window, in CSS pixels: items there are in the document too. */
const MARGIN = 260;
const BOTTOM = 24;

export function Grid() {
  const scroller = useRef<HTMLDivElement>(null);
  const [window_, setWindow] = useState({ top: 0, height: 800 });

  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => {
      gridWidth.value = element.clientWidth - 24;
      setWindow((w) => ({ top: w.top, height: element.clientHeight }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // The address may name another scroll position: at first, and after going back.
  const requested = scrolled.value;
  const own = useRef(0);
  useLayoutEffect(() => {
    const element = scroller.current!;
    if (requested !== own.current && gridWidth.value > 0) {
      // There may be less to scroll than the address thinks.
      element.scrollTop = requested;
      own.current = Math.round(element.scrollTop);
      scrolled.value = own.current;
      setWindow({ top: element.scrollTop, height: element.clientHeight });
    }
  }, [requested, gridWidth.value > 0]);

  const placed = layout.value;
  const seen =
    gridWidth.value > 0 ? inSight(placed, window_.top - MARGIN, window_.top + window_.height + MARGIN) : [];
  const keys = useKeys(scroller);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it scrolls, by the keys that scroll
    <div
      class="grid-scroll"
      ref={scroller}
      tabIndex={-1}
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget;
        own.current = Math.round(scrollTop);
        scrolled.value = own.current;
        setWindow({ top: scrollTop, height: clientHeight });
      }}
      onKeyDown={keys}
    >
      <Tall height={placed.height + BOTTOM}>
        {seen.map((item) =>
          item.kind === 'heading' ? (
            <HeadingItem key={`h:${item.id}`} item={item} />
          ) : item.kind === 'panel' ? (
            <PanelItem key={`n:${item.id}`} item={item} />
          ) : (
            <CardItem
              key={`${item.section === 0 && shownSections.value[0]?.path === PINNED ? 'p' : 'c'}:${item.id}`}
              item={item}
            />
          ),
        )}
      </Tall>
    </div>
  );
}

function Tall({ height, children }: { height: number; children: preact.ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    element.current!.style.height = `${height}px`;
  }, [height]);
  return (
    <div class="grid" ref={element}>
      {children}
    </div>
  );
}

/** Page keys of the grid where no field has the focus. */
function useKeys(scroller: { current: HTMLDivElement | null }) {
  return (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const page = scroller.current!.clientHeight - 60;
    const by = { PageDown: page, PageUp: -page, Home: -1e9, End: 1e9, ArrowDown: 60, ArrowUp: -60 }[
      event.key
    ];
    if (by === undefined) return;
    event.preventDefault();
    scroller.current!.scrollBy({ top: by });
  };
}
