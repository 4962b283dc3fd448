/** The row of small controls at the top of a card. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function ToolBar({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="tool-bar" role="toolbar" aria-label={label}>
      {children}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
  /** A menu in place of buttons. */
  quiet?: boolean;
}

export function ToolChoice<T extends string>({ label, value, options, onChange, quiet }: ChoiceProps<T>) {
  if (quiet) {
    return (
      <select
        class="tool"
        aria-label={label}
        title={label}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}
      >
        {options.map(([key, title]) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {options.map(([key, title], i) => (
        // biome-ignore lint/a11y/useSemanticElements: a radio cannot look like a segment without a label around it
        <button
          type="button"
          role="radio"
          key={key}
          data-value={key}
          aria-checked={key === value}
          tabIndex={key === value ? 0 : -1}
          onClick={() => onChange(key)}
          onKeyDown={(event) => {
            const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
            if (!by) return;
            event.preventDefault();
            event.stopPropagation();
            const next = (i + by + options.length) % options.length;
            onChange(options[next]![0]);
            (event.currentTarget.parentElement?.children[next] as HTMLElement | undefined)?.focus();
          }}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

interface ToggleProps {
  label: string;
  on: boolean;
  onChange: (on: boolean) => void;
  children: ComponentChildren;
}

export function ToolToggle({ label, on, onChange, children }: ToggleProps) {
  return (
    <button
      type="button"
      class="tool toggle"
      aria-label={label}
      title={label}
      aria-pressed={on}
      onClick={() => onChange(!on)}
    >
      {children}
    </button>
  );
}

interface MenuProps {
  label: string;
  items: [string, () => void][];
}

export function ToolMenu({ label, items }: MenuProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const key = (event: KeyboardEvent) => {
      const items = [...root.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
      const at = items.indexOf(document.activeElement as HTMLElement);
      const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (by) items[(at + by + items.length) % items.length]?.focus();
      else if (event.key === 'Escape') {
        setOpen(false);
        root.current?.querySelector('button')?.focus();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };
    const element = root.current;
    element?.addEventListener('keydown', key);
    addEventListener('pointerdown', away);
    return () => {
      element?.removeEventListener('keydown', key);
      removeEventListener('pointerdown', away);
    };
  }, [open]);
  return (
    <div class="tool-menu" ref={root}>
      <button
        type="button"
        class="tool"
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div class="menu" role="menu" aria-label={label}>
          {items.map(([title, act]) => (
            <button
              type="button"
              role="menuitem"
              key={title}
              onClick={() => {
                setOpen(false);
                act();
              }}
            >
              {title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
