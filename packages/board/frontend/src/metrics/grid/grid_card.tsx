/** A card in its frame; the code of its kind is fetched when the first card of that kind comes into view. */
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Kind } from '../../api/types.ts';
import type { CardProps } from '../../cards/card.ts';
import { largeCards } from '../../cards/card_address.ts';
import { CardFrame } from '../../cards/card_frame.tsx';
import { kindOf } from '../../cards/registry.ts';
import { lazy } from '../../controls/lazy.tsx';
import { type CardLeaf, runsOf } from './card_list.ts';
import { dropCard } from './drop_card.ts';
import { bodyHeights } from './grid_state.ts';

const SHRINK_AFTER_MS = 300;
const bodies = new Map<Kind, ComponentType<CardProps>>();

export function GridCard({ card, width, height }: { card: CardLeaf; width: number; height: number }) {
  const Body = bodyOf(card.kind);
  const onBodyHeight = useBodyHeight(card.id);
  const isScalar = card.kind === 'scalar';
  return (
    <CardFrame
      card={card}
      {...(isScalar ? { onDropCard: (from: string) => dropCard(from, card) } : { onBodyHeight })}
    >
      <Body
        card={card}
        tag={card.tag}
        runs={runsOf(card)}
        large={largeCards.value.includes(card.id)}
        width={width}
        height={height}
      />
    </CardFrame>
  );
}

function bodyOf(kind: Kind): ComponentType<CardProps> {
  let body = bodies.get(kind);
  if (!body) {
    body = lazy(kindOf(kind)!.load, `${kind.replaceAll('_', ' ')} cards`, <div class="tile-wait" />);
    bodies.set(kind, body);
  }
  return body;
}

/** A callback for the height that a card's body needs; the same one in every render. */
function useBodyHeight(id: string): (height: number) => void {
  const shrinking = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(shrinking.current), []);
  return useRef((needed: number) => {
    const height = Math.ceil(needed);
    const before = bodyHeights.peek().get(id) ?? 0;
    clearTimeout(shrinking.current);
    if (height === before) return;
    const put = () => {
      bodyHeights.value = new Map(bodyHeights.peek()).set(id, height);
    };
    // A body that is small for a moment, while it loads, does not move what lies below.
    if (height > before) put();
    else shrinking.current = setTimeout(put, SHRINK_AFTER_MS);
  }).current;
}
