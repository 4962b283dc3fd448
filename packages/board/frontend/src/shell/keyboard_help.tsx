/** The list of all keys, with those of the page that is shown first. */
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../controls/icons.tsx';
import { keysOpen, keyTables } from './keyboard_shortcuts.ts';

export function KeyboardHelp({ page }: { page: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = keysOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  const close = () => {
    keysOpen.value = false;
  };
  const here = (of: string | undefined) => (of === page ? 0 : of === undefined ? 1 : 2);
  const tables = [...keyTables].sort((a, b) => here(a.page) - here(b.page));
  return (
    <dialog
      class="key-list"
      ref={dialog}
      aria-label="Keys"
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <header>
        <h2>Keys</h2>
        <span class="grow" />
        <button type="button" class="icon" aria-label="Close the list of keys" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <div class="key-tables">
        {tables.map((table) => (
          <section key={table.title}>
            <h3>{table.title}</h3>
            <dl>
              {table.keys.map(([keys, what]) => (
                <div key={keys}>
                  <dt>
                    {keys.split(' ').map((one) => (
                      <kbd key={one}>{one}</kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
