/** A button that opens a menu: arrow keys, Home, End, Escape; closed by a click anywhere else. */

import type { ComponentChildren } from 'preact';
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** null is a line between items. */
export type MenuItem = {
  text: string;
  run?: () => void;
  /** A download, instead of run. */
  href?: string;
  download?: string;
  checked?: boolean;
  /** Faint text at the right, such as a key. */
  hint?: string;
  off?: boolean;
} | null;

export function Menu({
  label,
  items,
  class: className = '',
  children,
}: {
  label: string;
  /** A function is called when the menu opens: it may take long. */
  items: MenuItem[] | (() => MenuItem[]);
  class?: string;
  children?: ComponentChildren;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState<'first' | 'last' | null>(null);
  const close = () => {
    setOpen(null);
    button.current?.focus({ preventScroll: true });
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`${children ? 'tool' : 'icon'} ${className}${open ? ' on' : ''}`}
        aria-label={children ? undefined : label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open !== null}
        onClick={() => setOpen(open ? null : 'first')}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
          event.preventDefault();
          setOpen(event.key === 'ArrowDown' ? 'first' : 'last');
        }}
      >
        {children ?? <Icon name="more" />}
      </button>
      {open && button.current && (
        <Layer anchor={button.current} close={close}>
          <Items
            items={typeof items === 'function' ? items() : items}
            begin={open}
            close={close}
            label={label}
          />
        </Layer>
      )}
    </>
  );
}

function Items({
  items,
  begin,
  close,
  label,
}: {
  items: MenuItem[];
  begin: 'first' | 'last';
  close: () => void;
  label: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const all = list.current!.querySelectorAll<HTMLElement>('[role^=menuitem]');
    all[begin === 'first' ? 0 : all.length - 1]?.focus();
  }, []);
  const move = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  return (
    <div class="menu-list" role="menu" aria-label={label} ref={list} onKeyDown={move}>
      {items.map((item, i) => {
        if (item === null) return <hr key={i} />;
        const inner = (
          <>
            <span class="menu-check">{item.checked ? '✓' : ''}</span>
            <span class="menu-text">{item.text}</span>
            {item.hint && <kbd>{item.hint}</kbd>}
          </>
        );
        if (item.href) {
          return (
            <a
              key={item.text}
              role="menuitem"
              tabIndex={-1}
              href={item.href}
              download={item.download ?? ''}
              onClick={close}
            >
              {inner}
            </a>
          );
        }
        return (
          <button
            key={item.text}
            type="button"
            {...(item.checked === undefined
              ? { role: 'menuitem' as const }
              : { role: 'menuitemcheckbox' as const, 'aria-checked': item.checked })}
            tabIndex={-1}
            // It can have the focus: arrow keys reach it, and screen readers read it.
            aria-disabled={item.off ?? false}
            onClick={() => {
              if (item.off) return;
              close();
              item.run?.();
            }}
          >
            {inner}
          </button>
        );
      })}
    </div>
  );
}

/** Whether Tab leads out of a layer: from a menu at once, from fields behind the last or before the first. */
function leavesAt(layer: HTMLElement, event: KeyboardEvent): boolean {
  const fields = [...layer.querySelectorAll<HTMLElement>('button, a[href], input, select, textarea')].filter(
    (field) => field.tabIndex >= 0 && !field.matches(':disabled') && field.getClientRects().length > 0,
  );
  const at = fields.indexOf(document.activeElement as HTMLElement);
  return at < 0 || at === (event.shiftKey ? 0 : fields.length - 1);
}

/** Something that floats next to an element, above everything else, within the window. */
export function Layer({
  anchor,
  close,
  children,
}: {
  anchor: Element;
  close: () => void;
  children: ComponentChildren;
}) {
  const closing = useRef(close);
  closing.current = close;
  const host = useRef<HTMLDivElement | null>(null);
  useEffect(() => {
    const layer = document.createElement('div');
    layer.className = 'layer';
    (anchor.closest('dialog') ?? document.body).append(layer);
    host.current = layer;
    const outside = (event: Event) => {
      const target = event.target as Node;
      if (!layer.contains(target) && !anchor.contains(target)) closing.current();
    };
    const keys = (event: KeyboardEvent) => {
      const isEnd = event.key === 'Tab' && leavesAt(layer, event);
      if (event.key !== 'Escape' && !isEnd) return;
      event.stopPropagation();
      if (event.key === 'Escape') event.preventDefault();
      closing.current(); // returns the focus: Tab continues from there
    };
    document.addEventListener('pointerdown', outside, true);
    layer.addEventListener('keydown', keys);
    return () => {
      document.removeEventListener('pointerdown', outside, true);
      render(null, layer);
      layer.remove();
    };
  }, [anchor]);
  useEffect(() => {
    const layer = host.current;
    if (!layer) return;
    render(children, layer);
    const at = anchor.getBoundingClientRect();
    const { width, height } = layer.getBoundingClientRect();
    const left = Math.min(Math.max(4, at.right - width), innerWidth - width - 4);
    const below = at.bottom + 4;
    const top = below + height > innerHeight - 4 ? Math.max(4, at.top - height - 4) : below;
    layer.style.left = `${Math.max(4, at.left + width < innerWidth - 4 && at.left < 300 ? at.left : left)}px`;
    layer.style.top = `${top}px`;
  });
  return null;
}
