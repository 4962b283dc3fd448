/** The frame of every card: the title bar around the body that its kind draws. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { MenuItem } from '../controls/menu.tsx';
import { runTitle } from '../state/run_title.ts';
import { safeText } from '../strings/safe_text.ts';
import { type CardSpec, canBeDropped } from './card.ts';
import { CARD_DRAG, CardTitle, CardTools, titleOf } from './card_title_bar.tsx';

export type { MenuItem };

interface Badge {
  text: string;
  title: string;
  run: () => void;
}

export interface FrameSlots {
  /** Short text at the right of the title bar, such as "120 of 4000 points drawn". */
  setInfo(text: string, title?: string): void;
  /** Items of the card's menu (downloads and the like) before those of the frame. */
  setMenu(items: MenuItem[]): void;
  /** A marked button before the menu; null takes it away. */
  setBadge(badge: Badge | null): void;
}

const Slots = createContext<FrameSlots>({ setInfo: () => {}, setMenu: () => {}, setBadge: () => {} });

/** What a card's body may put into its frame; call it from effects. */
export const useCardFrame = (): FrameSlots => useContext(Slots);

interface FrameProps {
  card: CardSpec;
  children: ComponentChildren;
  /** Called with the id of a card that is dropped on this one. */
  onDropCard?: (id: string) => void;
  /** Called with the height that the body needs, in CSS pixels. */
  onBodyHeight?: (height: number) => void;
}

export function CardFrame({ card, children, onDropCard, onBodyHeight }: FrameProps) {
  const [info, putInfo] = useState({ text: '', title: '' });
  const [menu, setMenu] = useState<MenuItem[]>([]);
  const [badge, setBadge] = useState<Badge | null>(null);
  const slots = useMemo<FrameSlots>(
    () => ({ setInfo: (text, hint = '') => putInfo({ text, title: hint }), setMenu, setBadge }),
    [],
  );
  const { isTarget, dropHandlers } = useDropTarget(onDropCard);
  const title = titleOf(card);
  const body = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const around = body.current;
    if (!around || !onBodyHeight) return;
    const sizes = new ResizeObserver(([entry]) => onBodyHeight(entry!.target.getBoundingClientRect().height));
    const follow = () => {
      sizes.disconnect();
      if (around.firstElementChild) sizes.observe(around.firstElementChild);
    };
    // The code of a card may come after its frame: its content then replaces the placeholder.
    const replaced = new MutationObserver(follow);
    replaced.observe(around, { childList: true });
    follow();
    return () => {
      replaced.disconnect();
      sizes.disconnect();
    };
  }, [onBodyHeight]);

  return (
    <article
      class={`tile${isTarget ? ' target' : ''}`}
      aria-label={safeText(card.run ? `${title}, ${runTitle(card.run.name)}` : title)}
      {...dropHandlers}
    >
      <header class="tile-head">
        <CardTitle card={card} draggable={onDropCard !== undefined && canBeDropped(card)} />
        <span class="tile-info" title={info.title || info.text}>
          {info.text}
        </span>
        {badge && (
          <button type="button" class="badge" title={safeText(badge.title, 300)} onClick={badge.run}>
            {badge.text}
          </button>
        )}
        <CardTools card={card} menu={menu} />
      </header>
      <div class="tile-body" ref={body}>
        <Slots.Provider value={slots}>{children}</Slots.Provider>
      </div>
    </article>
  );
}

/** Accepts cards that are dragged here; without a callback it accepts none. */
function useDropTarget(onDropCard: ((id: string) => void) | undefined) {
  const [isTarget, setTarget] = useState(false);
  const dropHandlers = {
    onDragOver: (event: DragEvent) => {
      if (!onDropCard || !event.dataTransfer?.types.includes(CARD_DRAG)) return;
      event.preventDefault();
      setTarget(true);
    },
    onDragLeave: () => setTarget(false),
    onDrop: (event: DragEvent) => {
      setTarget(false);
      const from = event.dataTransfer?.getData(CARD_DRAG);
      if (!from || !onDropCard) return;
      event.preventDefault();
      onDropCard(from);
    },
  };
  return { isTarget, dropHandlers };
}
