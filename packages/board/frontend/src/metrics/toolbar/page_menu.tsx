/** What holds for the whole page: exports; sizes of cards, folders, layouts. */

import { messageOf } from '../../api/error_message.ts';
import { showMessage } from '../../browser/messages.ts';
import { orders, tooltipOrder } from '../../charts/tooltip.tsx';
import { Icon } from '../../controls/icons.tsx';
import { Menu, type MenuItem } from '../../controls/menu.tsx';
import { newLayout } from '../../custom/layouts.ts';
import { visibleRuns } from '../../runs/visible_runs.ts';
import { pointDownloads } from '../../scalars/downloads.ts';
import { runs, tags } from '../../state/catalogue.ts';
import { counted } from '../../units/numbers.ts';
import { sections } from '../grid/card_list.ts';
import { cardWidth, scrolled, shutFolders } from '../grid/grid_address.ts';
import { addPanel, canEdit, draft } from '../panels/panel_store.ts';
import { ABOVE } from '../panels/panels.ts';

function exports(): MenuItem[] {
  const shown = sections.value.flatMap((section) =>
    section.cards.flatMap((card) =>
      card.kind === 'scalar' ? [...(card.custom?.tags ?? [card.tag]), ...card.overlays] : [],
    ),
  );
  const ids = [...new Set(shown.map((tag) => tag.id))];
  const drawn = visibleRuns.value;
  const what = `${counted(ids.length, 'tag')} of ${counted(drawn.length, 'run')}`;
  return [
    ...(ids.length > 0 && drawn.length > 0
      ? pointDownloads('scalars', what, ids, drawn)
      : [{ text: 'No scalars are shown', off: true }]),
    null,
    {
      text: 'Save as a report (HTML)',
      off: sections.value.length === 0,
      run: () => void saveReport(),
    },
  ];
}

/** Fetches the code of reports when it is first needed. */
async function saveReport(): Promise<void> {
  try {
    await (await import('../report/save_report.ts')).saveReport();
  } catch (error) {
    showMessage(`The report is not saved: ${messageOf(error)}`);
  }
}

export function ExportMenu() {
  return (
    <Menu label="Export what is shown" items={exports}>
      <Icon name="download" />
      <span class="tool-text">export</span>
    </Menu>
  );
}

export function ViewMenu() {
  const folders = () => sections.value.map((section) => section.path);
  const size = (text: string, width: number) => ({
    text,
    checked: cardWidth.value === width,
    run: () => {
      cardWidth.value = width;
    },
  });
  return (
    <Menu
      label="Sizes of cards, folders, layouts"
      items={[
        size('Small cards', 280),
        size('Medium cards', 380),
        size('Large cards', 560),
        null,
        ...orders.map((order) => ({
          text: `Values at the pointer: ${order === 'name' ? 'by name' : `${order} first`}`,
          checked: tooltipOrder.value === order,
          run: () => {
            tooltipOrder.value = order;
          },
        })),
        null,
        {
          text: 'New panel of text (Markdown)',
          hint: canEdit.value ? '' : 'needs --state FILE',
          off: !canEdit.value || draft.value !== null || sections.value.length === 0,
          run: () => {
            addPanel(ABOVE);
            scrolled.value = 0;
          },
        },
        {
          text: 'New layout of charts',
          off: runs.value.length === 0,
          run: () => newLayout(tags.value.filter((t) => t.kind === 'custom_scalars').map((t) => t.name)),
        },
        {
          text: 'Close all folders',
          run: () => {
            shutFolders.value = folders();
          },
        },
        {
          text: 'Open all folders',
          run: () => {
            shutFolders.value = [];
          },
        },
      ]}
    >
      <Icon name="layout" />
      <span class="tool-text">view</span>
    </Menu>
  );
}
