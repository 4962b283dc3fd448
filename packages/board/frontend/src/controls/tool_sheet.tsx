/** Tools that stand in a line on a wide window, and on a narrow one in a sheet behind a button. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isSmall } from '../state/small_screen.ts';
import { Drawer } from './drawer.tsx';
import { Icon } from './icons.tsx';

export function ToolSheet({ label, children }: { label: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  if (!isSmall.value) return children;
  return (
    <>
      <button type="button" class="tool sheet-button" aria-expanded={open} onClick={() => setOpen(true)}>
        <Icon name="sliders" /> Tools
      </button>
      {open && (
        <Drawer side="bottom" label={label} close={() => setOpen(false)}>
          <div class="sheet-tools">{children}</div>
        </Drawer>
      )}
    </>
  );
}
