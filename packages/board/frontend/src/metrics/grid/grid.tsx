/** The cards of the Metrics page, of which only those in sight are in the document. */

import { computed, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type CardProps, FRAME_HEIGHT, FRAME_WIDTH } from '../../cards/card.ts';
import { largeCards, toggled } from '../../cards/card_address.ts';
import { CardFrame } from '../../cards/card_frame.tsx';
import { kindOf } from '../../cards/registry.ts';
import { Icon } from '../../controls/icons.tsx';
import { memo } from '../../controls/memo.ts';
import { RANGE_TABLE_HEIGHT } from '../../scalars/range_values.ts';
import { tableCards } from '../../scalars/settings/chart_settings.ts';
import { safeText } from '../../strings/safe_text.ts';
import { type CardLeaf, PINNED, runsOf, sections } from './card_list.ts';
import { dropCard } from './drop_card.ts';
import { cardWidth, scrolled, shutFolders } from './grid_address.ts';
import { inSight, layOut, type Placed } from './grid_layout.ts';
import { isInShut } from './tag_tree.ts';

/** Heights that bodies asked for, by id of card. */
const bodyHeights = signal<ReadonlyMap<string, number>>(new Map());
const MARGIN = 260;
const BOTTOM = 24;
const SHRINK_AFTER_MS = 300;

const gridWidth = signal(0);

const shownSections = computed(() => {
  const shut = new Set(shutFolders.value);
  return sections.value.filter((section) => !isInShut(section.path, shut));
});

const layout = computed(() => {
  const shut = new Set(shutFolders.value);
  const large = new Set(largeCards.value);
  const tables = new Set(tableCards.value);
  const heights = bodyHeights.value;
  return layOut(
    shownSections.value.map((section) => ({
      path: section.path,
      shut: shut.has(section.path),
      cards: section.cards.map((card) => {
        const kind = kindOf(card.kind)!;
        const table = tables.has(card.id) ? RANGE_TABLE_HEIGHT : 0;
        const asked = heights.get(card.id) ?? 0;
        return {
          id: card.id,
          large: large.has(card.id),
          height: Math.max(kind.height + table, asked) + FRAME_HEIGHT,
          tall: Math.max(kind.tall + table, asked) + FRAME_HEIGHT,
          row: section.path === PINNED ? '' : card.kind,
        };
      }),
    })),
    gridWidth.value,
    cardWidth.value,
  );
});

const cardsById = computed(
  () => new Map(sections.value.flatMap((s) => s.cards.map((card) => [card.id, card]))),
);

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
  // The address may ask for another place: at first, and when someone goes back.
  const wanted = scrolled.value;
  const own = useRef(0);
  useLayoutEffect(() => {
    const element = scroller.current!;
    if (wanted !== own.current && gridWidth.value > 0) {
      // There may be less to scroll than the address thinks.
      element.scrollTop = wanted;
      own.current = Math.round(element.scrollTop);
      scrolled.value = own.current;
      setWindow({ top: element.scrollTop, height: element.clientHeight });
    }
  }, [wanted, gridWidth.value > 0]);

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
            <Heading key={`h:${item.id}`} item={item} />
          ) : (
            <GridCard
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

function place(element: HTMLElement | null, item: Placed): void {
  if (!element) return;
  element.style.transform = `translate(${item.x}px, ${item.y}px)`;
  element.style.width = `${item.width}px`;
  element.style.height = `${item.height}px`;
}

function Heading({ item }: { item: Placed }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place(element.current, item));
  const section = shownSections.value[item.section];
  const isShut = shutFolders.value.includes(item.id);
  if (!section) return null;
  return (
    <div class={`grid-item heading depth-${Math.min(section.depth, 4)}`} ref={element}>
      <button
        type="button"
        class="heading-button"
        aria-expanded={!isShut}
        onClick={() => {
          shutFolders.value = toggled(shutFolders.value, item.id);
        }}
      >
        <Icon name={isShut ? 'right' : 'down'} />
        <span>{safeText(section.path === '' ? 'top level' : section.title)}</span>
        <span class="count">{section.count}</span>
      </button>
    </div>
  );
}

const GridCard = memo(function GridCard({ item }: { item: Placed }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place(element.current, item));
  const card = cardsById.value.get(item.id);
  return (
    <div class="grid-item" ref={element}>
      {card && <Card card={card} width={item.width - FRAME_WIDTH} height={item.height - FRAME_HEIGHT} />}
    </div>
  );
});

const loadedBodies = new Map<string, ComponentType<CardProps>>();

function Card({ card, width, height }: { card: CardLeaf; width: number; height: number }) {
  const [, setLoaded] = useState(0);
  const Body = loadedBodies.get(card.kind);
  useEffect(() => {
    if (loadedBodies.has(card.kind)) return;
    let here = true;
    void kindOf(card.kind)!
      .load()
      .then((module) => {
        loadedBodies.set(card.kind, module.default);
        if (here) setLoaded((n) => n + 1);
      });
    return () => {
      here = false;
    };
  }, [card.kind]);
  const shrinking = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const onBodyHeight = useRef((asked: number) => {
    const rounded = Math.ceil(asked);
    const before = bodyHeights.peek().get(card.id) ?? 0;
    clearTimeout(shrinking.current);
    if (rounded === before) return;
    const put = () => {
      bodyHeights.value = new Map(bodyHeights.peek()).set(card.id, rounded);
    };
    // A body that is small for a moment, while it loads, does not move what lies below.
    if (rounded > before) put();
    else shrinking.current = setTimeout(put, SHRINK_AFTER_MS);
  });
  useEffect(() => () => clearTimeout(shrinking.current), []);
  const isScalar = card.kind === 'scalar';
  return (
    <CardFrame
      card={card}
      {...(isScalar
        ? { onDropCard: (from: string) => dropCard(from, card) }
        : { onBodyHeight: onBodyHeight.current })}
    >
      {Body ? (
        <Body
          card={card}
          tag={card.tag}
          runs={runsOf(card)}
          large={largeCards.value.includes(card.id)}
          width={width}
          height={height}
        />
      ) : (
        <div class="tile-wait" />
      )}
    </CardFrame>
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
