/** A panel that slides over the page from a side: a dialog that Escape or a click beside it closes. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface Props {
  side: 'left' | 'right' | 'bottom';
  label: string;
  close: () => void;
  /** The panel has a button of its own that closes it. */
  hasClose?: boolean;
  children: ComponentChildren;
}

export function Drawer({ side, label, close, hasClose = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      class={`drawer ${side}`}
      ref={dialog}
      aria-label={label}
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <div class="drawer-body">
        {!hasClose && (
          <header class="drawer-head">
            <h2>{label}</h2>
            <span class="grow" />
            <button type="button" class="icon" aria-label={`Close: ${label}`} onClick={close}>
              <Icon name="close" />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}
