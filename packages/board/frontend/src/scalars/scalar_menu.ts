/** The menu of a card of scalars: its axes and tags, and all that it can be saved as. */

import type { CardSpec } from '../cards/card.ts';
import { pinnedCards, toggled } from '../cards/card_address.ts';
import type { MenuItem } from '../controls/menu.tsx';
import { safeText } from '../strings/safe_text.ts';
import { setZoom, zoomOf } from './curves/scalar_query.ts';
import type { ScalarChart } from './curves/use_scalar_chart.ts';
import { downloads } from './downloads.ts';
import { tableCards } from './settings/chart_settings.ts';
import type { CurvePart } from './settings/curve_part.ts';
import { removeCustomChart } from './settings/custom_charts.ts';
import { isOnRight, ownTags, removeOverlay, removeOverlays, setAxis } from './settings/overlays.ts';

export function scalarMenu(
  card: CardSpec,
  chart: ScalarChart,
  parts: CurvePart[],
  showSettings: () => void,
): MenuItem[] {
  const hasTable = tableCards.value.includes(card.id);
  const name = (text: string) => safeText(text, 60);
  const items: MenuItem[] = [];
  if (zoomOf(card.id))
    items.push({ text: 'Fit to the data', hint: 'double click', run: () => setZoom(card.id, null) });
  items.push(
    { text: 'Axes and smoothing…', run: showSettings },
    {
      text: 'Table of values',
      checked: hasTable,
      run: () => {
        tableCards.value = toggled(tableCards.value, card.id);
      },
    },
    null,
    ...downloads(chart, parts),
  );
  const dropped = new Set(card.overlays.map((tag) => tag.id));
  const further = [...ownTags(card).slice(card.custom ? 0 : 1), ...card.overlays];
  // The first line keeps the left axis.
  for (const tag of further.filter((one) => one.id !== parts[0]?.tag.id || parts[0].expression)) {
    const isRight = isOnRight(card.id, tag.name);
    items.push(null, {
      text: `${name(tag.name)} on a right axis`,
      checked: isRight,
      run: () => setAxis(card, tag.name, !isRight),
    });
    if (dropped.has(tag.id))
      items.push({ text: `Remove ${name(tag.name)}`, run: () => removeOverlay(card.id, tag.name) });
  }
  if (card.custom) {
    const { text } = card.custom;
    items.push(null, {
      text: 'Remove this chart',
      run: () => {
        removeCustomChart(text);
        removeOverlays(card.id);
        pinnedCards.value = pinnedCards.peek().filter((id) => id !== card.id);
      },
    });
  }
  return items;
}
