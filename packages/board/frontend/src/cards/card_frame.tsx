/** The frame of every card: title bar with the tag, pin, enlarge, menu; the body is the card's own. */

import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { copyText } from '../browser/clipboard.ts';
import { Icon } from '../controls/icons.tsx';
import { Menu, type MenuItem } from '../controls/menu.tsx';
import { Swatch } from '../controls/swatch.tsx';
import { runColour } from '../runs/colours.ts';
import { inspectedRun, inspectedTag } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { type CardSpec, canBeDropped, isLogged } from './card.ts';
import { largeCards, pinnedCards, toggled } from './card_address.ts';

export type { MenuItem };

export interface FrameSlots {
  /** Short text at the right of the title bar, such as "120 of 4000 points drawn". */
  setInfo(text: string): void;
  /** Items of the card's menu (downloads and the like) before those of the frame. */
  setMenu(items: MenuItem[]): void;
  /** A marked button before the menu; null takes it away. */
  setBadge(badge: { text: string; title: string; run: () => void } | null): void;
}

const Slots = createContext<FrameSlots>({ setInfo: () => {}, setMenu: () => {}, setBadge: () => {} });

/** What a card's body may put into its frame; call it from effects. */
export const useCardFrame = (): FrameSlots => useContext(Slots);

export const CARD_DRAG = 'application/x-headrace-card';

export function CardFrame({
  card,
  children,
  onDropCard,
  onBodyHeight,
}: {
  card: CardSpec;
  children: ComponentChildren;
  onDropCard?: (id: string) => void;
  onBodyHeight?: (height: number) => void;
}) {
  const [info, setInfo] = useState('');
  const [menu, setMenu] = useState<MenuItem[]>([]);
  const [badge, setBadge] = useState<{ text: string; title: string; run: () => void } | null>(null);
  const [isTarget, setTarget] = useState(false);
  const slots = useMemo<FrameSlots>(() => ({ setInfo, setMenu, setBadge }), []);
  const isPinned = pinnedCards.value.includes(card.id);
  const isLarge = largeCards.value.includes(card.id);
  const names = [card.tag.name, ...card.overlays.map((tag) => tag.name)];
  const title = card.tag.display || names.join(' · ');
  const body = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const inner = body.current?.firstElementChild;
    if (!inner || !onBodyHeight) return;
    const observer = new ResizeObserver(() => onBodyHeight(inner.getBoundingClientRect().height));
    observer.observe(inner);
    return () => observer.disconnect();
  }, [onBodyHeight, children]);

  const pin = () => {
    pinnedCards.value = toggled(pinnedCards.value, card.id);
  };
  const enlarge = () => {
    largeCards.value = toggled(largeCards.value, card.id);
  };
  const own: MenuItem[] = [
    ...menu,
    ...(menu.length > 0 ? [null] : []),
    { text: isPinned ? 'Unpin' : 'Pin to the top', run: pin },
    { text: isLarge ? 'Normal size' : 'Full width', run: enlarge },
    { text: 'Copy the tag', run: () => void copyText(card.tag.name) },
    // The inspector shows details of tags in the logs only.
    ...(!isLogged(card)
      ? []
      : [
          {
            text: 'Details',
            run: () => {
              inspectedTag.value = card.tag.id;
              inspectedRun.value = card.run?.id ?? null;
            },
          },
        ]),
  ];
  const slash = card.made ? -1 : title.lastIndexOf('/');
  return (
    <article
      class={`tile${isTarget ? ' target' : ''}`}
      aria-label={safeText(card.run ? `${title}, ${card.run.name}` : title)}
      onDragOver={(event) => {
        if (onDropCard && event.dataTransfer?.types.includes(CARD_DRAG)) {
          event.preventDefault();
          setTarget(true);
        }
      }}
      onDragLeave={() => setTarget(false)}
      onDrop={(event) => {
        setTarget(false);
        const from = event.dataTransfer?.getData(CARD_DRAG);
        if (from && onDropCard) {
          event.preventDefault();
          onDropCard(from);
        }
      }}
    >
      <header class="tile-head">
        <h3
          title={safeText(names.join('\n'))}
          draggable={onDropCard !== undefined && canBeDropped(card)}
          onDragStart={(event) => event.dataTransfer?.setData(CARD_DRAG, card.id)}
        >
          {slash > 0 && <span class="tile-path">{safeText(title.slice(0, slash + 1))}</span>}
          <span class="tile-name">{safeText(title.slice(slash + 1))}</span>
          {card.run && <RunLabel run={card.run} />}
        </h3>
        <span class="tile-info">{info}</span>
        {badge && (
          <button type="button" class="badge" title={safeText(badge.title, 300)} onClick={badge.run}>
            {badge.text}
          </button>
        )}
        <span class={`tile-tools${isPinned || isLarge ? ' kept' : ''}`}>
          <button
            type="button"
            class={`icon${isPinned ? ' on' : ''}`}
            aria-label={isPinned ? 'Unpin' : 'Pin to the top'}
            aria-pressed={isPinned}
            title={isPinned ? 'Unpin' : 'Pin to the top'}
            onClick={pin}
          >
            <Icon name="pin" />
          </button>
          <button
            type="button"
            class={`icon${isLarge ? ' on' : ''}`}
            aria-label={isLarge ? 'Normal size' : 'Full width'}
            aria-pressed={isLarge}
            title={isLarge ? 'Normal size' : 'Full width'}
            onClick={enlarge}
          >
            <Icon name={isLarge ? 'shrink' : 'grow'} />
          </button>
          <Menu label="Menu of the card" items={own} />
        </span>
      </header>
      <div class="tile-body" ref={body}>
        <Slots.Provider value={slots}>{children}</Slots.Provider>
      </div>
    </article>
  );
}

function RunLabel({ run }: { run: NonNullable<CardSpec['run']> }) {
  return (
    <span class="tile-run">
      <Swatch colour={runColour(run)} />
      {safeText(run.name)}
    </span>
  );
}
