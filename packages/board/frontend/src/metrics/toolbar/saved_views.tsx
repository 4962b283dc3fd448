/** Named views: an address each, saved in the board's state file or in the browser. */

import { address } from '../../address/url_state.ts';
import { copyText } from '../../browser/clipboard.ts';
import { Icon } from '../../controls/icons.tsx';
import { Menu, type MenuItem } from '../../controls/menu.tsx';
import { savedDocument } from '../../storage/saved_document.ts';
import { safeText } from '../../strings/safe_text.ts';

export const savedViews = savedDocument<Record<string, string>>('views', {});

export function ViewsMenu() {
  const names = Object.keys(savedViews.value).sort();
  const items: MenuItem[] = [
    {
      text: 'Save this view…',
      run: () => {
        const name = prompt('Name of the view')?.trim();
        if (name) savedViews.value = { ...savedViews.value, [name]: address() };
      },
    },
    { text: 'Copy the address', run: () => void copyText(location.href) },
    ...(names.length > 0 ? [null] : []),
    ...names.map((name) => ({
      text: safeText(name, 60),
      run: () => {
        location.hash = savedViews.value[name]!;
      },
    })),
    ...(names.length > 0
      ? [
          null,
          ...names.map((name) => ({
            text: `Delete ${safeText(name, 60)}`,
            run: () => {
              const { [name]: _, ...rest } = savedViews.value;
              savedViews.value = rest;
            },
          })),
        ]
      : []),
  ];
  return (
    <Menu label="Saved views" items={items}>
      <Icon name="bookmark" />
      <span class="tool-text">saved views</span>
    </Menu>
  );
}
