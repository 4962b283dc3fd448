/** The keys that every page has: command palette, pages, runs, filter, help. */
import { useEffect } from 'preact/hooks';
import { goTo } from '../address/url_state.ts';
import { paletteOpen } from './command_palette.tsx';
import { keysOpen } from './keyboard_shortcuts.ts';
import { pages } from './pages.ts';
import { toggleRuns } from './panel_widths.ts';

export function useShellKeys(): void {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const command = event.ctrlKey || event.metaKey;
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element)?.tagName ?? '');
      if (command && event.key.toLowerCase() === 'k') paletteOpen.value = !paletteOpen.value;
      else if (command && event.key.toLowerCase() === 'b') toggleRuns();
      else if (event.altKey && /^[1-9]$/.test(event.key) && pages[Number(event.key) - 1]) {
        goTo(pages[Number(event.key) - 1]!.id);
      } else if (event.key === '/' && !isTyping && !command) {
        const field = document.getElementById('tag-filter');
        if (!field) return;
        field.focus();
      } else if (event.key === '?' && !isTyping && !command) keysOpen.value = !keysOpen.value;
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, []);
}
