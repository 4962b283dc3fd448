/** A button with a panel under it. */
import { useEffect, useRef, useState } from 'preact/hooks';

/** A button with a panel under it; Escape or a click elsewhere closes it. */
export function Popover({ label, children }: { label: string; children: preact.ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, [open]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only hears the Escape of what is within
    <div
      class="g-popover"
      ref={box}
      onKeyDown={(event) => {
        if (event.key === 'Escape') setOpen(false);
      }}
    >
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label} ▾
      </button>
      {open && <div class="g-popover-panel">{children}</div>}
    </div>
  );
}
