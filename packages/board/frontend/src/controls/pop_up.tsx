/** A button that opens a small box; Escape or a press elsewhere closes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function PopUp({
  label,
  pressed,
  children,
}: {
  label: string;
  pressed?: boolean;
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      root.current?.querySelector('button')?.focus();
    };
    addEventListener('pointerdown', away);
    addEventListener('keydown', key);
    return () => {
      removeEventListener('pointerdown', away);
      removeEventListener('keydown', key);
    };
  }, [open]);
  return (
    <div class="tool-menu" ref={root}>
      <button
        type="button"
        class="tool"
        aria-expanded={open}
        aria-pressed={pressed ?? open}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && <div class="menu pop-up">{children}</div>}
    </div>
  );
}
