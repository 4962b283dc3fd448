/** An item of the grid: a heading or a card. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { beginStep } from '../../address/url_state.ts';
import { FRAME_HEIGHT, FRAME_WIDTH } from '../../cards/card.ts';
import { toggled } from '../../cards/card_address.ts';
import { Icon } from '../../controls/icons.tsx';
import { memo } from '../../controls/memo.ts';
import { safeText } from '../../strings/safe_text.ts';
import { addPanel, canEdit, draft, panelsAt } from '../panels/panel_store.ts';
import { PanelView } from '../panels/panel_view.tsx';
import { ABOVE } from '../panels/panels.ts';
import { shutFolders } from './grid_address.ts';
import { GridCard } from './grid_card.tsx';
import type { Placed } from './grid_layout.ts';
import { bodyHeights, cardOf, panelKey, shownSections } from './grid_state.ts';

function place(element: HTMLElement | null, item: Placed): void {
  if (!element) return;
  element.style.transform = `translate(${item.x}px, ${item.y}px)`;
  element.style.width = `${item.width}px`;
  element.style.height = `${item.height}px`;
}

export function HeadingItem({ item }: { item: Placed }) {
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
          beginStep();
          shutFolders.value = toggled(shutFolders.value, item.id);
        }}
      >
        <Icon name={isShut ? 'right' : 'down'} />
        <span>
          {safeText(
            section.path === ''
              ? 'top level'
              : item.shared
                ? section.path.replace(/^\*.*/, section.title)
                : section.title,
          )}
        </span>
        <span class="count">{section.count}</span>
      </button>
      {canEdit.value && (
        <button
          type="button"
          class="icon heading-add"
          aria-label={`Add a panel of text to ${safeText(section.title || 'top level', 120)}`}
          title="Add a panel of text here"
          disabled={draft.value !== null}
          onClick={() => {
            if (isShut) shutFolders.value = toggled(shutFolders.value, item.id);
            addPanel(section.path);
          }}
        >
          <Icon name="plus" />
        </button>
      )}
    </div>
  );
}

export function PanelItem({ item }: { item: Placed }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place(element.current, item));
  const onHeight = useRef((height: number) => {
    const key = panelKey(item.id);
    if (height === 0 || bodyHeights.peek().get(key) === height) return;
    bodyHeights.value = new Map(bodyHeights.peek()).set(key, height);
  }).current;
  const among = panelsAt(item.section < 0 ? ABOVE : (shownSections.value[item.section]?.path ?? ABOVE));
  const panel = among.find((one) => one.id === item.id);
  return (
    <div class="grid-item" ref={element}>
      {panel && <PanelView panel={panel} among={among} onHeight={onHeight} />}
    </div>
  );
}

export const CardItem = memo(function CardItem({ item }: { item: Placed }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place(element.current, item));
  const card = cardOf(item);
  return (
    <div class="grid-item" ref={element}>
      {card && <GridCard card={card} width={item.width - FRAME_WIDTH} height={item.height - FRAME_HEIGHT} />}
    </div>
  );
});
