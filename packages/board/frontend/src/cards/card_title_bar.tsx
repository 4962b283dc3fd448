/** The title bar of a card: the tag's name, pin, enlarge, menu. */

import { beginStep } from '../address/url_state.ts';
import { copyText } from '../browser/clipboard.ts';
import { Icon, type IconName } from '../controls/icons.tsx';
import { Menu, type MenuItem } from '../controls/menu.tsx';
import { Swatch } from '../controls/swatch.tsx';
import { runColour } from '../runs/colours.ts';
import { runTitle } from '../state/run_title.ts';
import { inspectedRun, inspectedTag } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { type CardSpec, isLogged } from './card.ts';
import { largeCards, pinnedCards, toggled } from './card_address.ts';

/** The type of what is dragged: the id of a card. */
export const CARD_DRAG = 'application/x-headrace-card';

const namesOf = (card: CardSpec): string[] => [card.tag.name, ...card.overlays.map((tag) => tag.name)];

export const titleOf = (card: CardSpec): string => card.tag.display || namesOf(card).join(' · ');

export function CardTitle({ card, draggable }: { card: CardSpec; draggable: boolean }) {
  const title = titleOf(card);
  const slash = card.custom ? -1 : title.lastIndexOf('/');
  return (
    <h3
      title={safeText(namesOf(card).join('\n'))}
      draggable={draggable}
      onDragStart={(event) => event.dataTransfer?.setData(CARD_DRAG, card.id)}
    >
      {slash > 0 && <span class="tile-path">{safeText(title.slice(0, slash + 1))}</span>}
      <span class="tile-name">{safeText(title.slice(slash + 1))}</span>
      {card.run && (
        <span class="tile-run">
          <Swatch colour={runColour(card.run)} />
          {safeText(runTitle(card.run.name))}
        </span>
      )}
    </h3>
  );
}

/** `menu` are the items of the card's body, which come first. */
export function CardTools({ card, menu }: { card: CardSpec; menu: MenuItem[] }) {
  const isPinned = pinnedCards.value.includes(card.id);
  const isLarge = largeCards.value.includes(card.id);
  const pin = () => {
    pinnedCards.value = toggled(pinnedCards.value, card.id);
  };
  const enlarge = () => {
    beginStep();
    largeCards.value = toggled(largeCards.value, card.id);
  };
  const pinText = isPinned ? 'Unpin' : 'Pin to the top';
  const sizeText = isLarge ? 'Normal size' : 'Full width';
  const items: MenuItem[] = [
    ...menu,
    ...(menu.length > 0 ? [null] : []),
    { text: pinText, run: pin },
    { text: sizeText, run: enlarge },
    { text: 'Copy the tag', run: () => void copyText(card.tag.name) },
    // The inspector shows details of tags in the logs only.
    ...(isLogged(card) ? [{ text: 'Details', run: () => inspect(card) }] : []),
  ];
  return (
    <span class={`tile-tools${isPinned || isLarge ? ' kept' : ''}`}>
      <Toggle icon="pin" text={pinText} on={isPinned} toggle={pin} />
      <Toggle icon={isLarge ? 'shrink' : 'grow'} text={sizeText} on={isLarge} toggle={enlarge} />
      <Menu label="Menu of the card" items={items} />
    </span>
  );
}

function Toggle(props: { icon: IconName; text: string; on: boolean; toggle: () => void }) {
  return (
    <button
      type="button"
      class={`icon${props.on ? ' on' : ''}`}
      aria-label={props.text}
      aria-pressed={props.on}
      title={props.text}
      onClick={props.toggle}
    >
      <Icon name={props.icon} />
    </button>
  );
}

function inspect(card: CardSpec): void {
  inspectedTag.value = card.tag.id;
  inspectedRun.value = card.run?.id ?? null;
}
