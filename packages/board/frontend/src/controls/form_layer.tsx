/** A layer with fields in it: Tab walks through them and stays inside; Escape closes. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Layer } from './menu.tsx';

interface Props {
  anchor: Element;
  close: () => void;
  label: string;
  class?: string;
  children: ComponentChildren;
}

const FIELDS = ':is(button, input, select, textarea, a[href]):not([disabled]):not([tabindex="-1"])';

export function FormLayer({ anchor, close, label, class: className = '', children }: Props) {
  return (
    <Layer anchor={anchor} close={close}>
      <Fields label={label} class={className}>
        {children}
      </Fields>
    </Layer>
  );
}

function Fields({ label, class: className, children }: Omit<Props, 'anchor' | 'close'>) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => element.current!.querySelector<HTMLElement>(FIELDS)?.focus(), []);
  return (
    <div
      ref={element}
      class={`popover ${className}`}
      role="dialog"
      aria-label={label}
      onKeyDown={(event) => {
        if (event.key !== 'Tab') return;
        // Tab closes a layer; in a form it moves to the next field, and from the last to the first.
        event.stopPropagation();
        const all = [...element.current!.querySelectorAll<HTMLElement>(FIELDS)];
        const at = all.indexOf(document.activeElement as HTMLElement);
        const isLast = event.shiftKey ? at <= 0 : at === all.length - 1;
        if (!isLast) return;
        event.preventDefault();
        all.at(event.shiftKey ? -1 : 0)?.focus();
      }}
    >
      {children}
    </div>
  );
}
