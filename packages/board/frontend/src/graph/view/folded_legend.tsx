/** The legend, or a line that opens it: it covers a corner of the graph. */
import type { ComponentChildren } from 'preact';
import { localSignal } from '../../browser/local_storage.ts';
import { Icon } from '../../controls/icons.tsx';
import { isSmall } from '../../state/small_screen.ts';

type Wish = 'open' | 'folded' | 'auto';
/** Until the reader decides, it is open where there is room. */
const wish = localSignal<Wish>('graph-legend', 'auto', ['open', 'folded', 'auto']);

export function FoldedLegend({ children }: { children: ComponentChildren }) {
  const open = wish.value === 'auto' ? !isSmall.value : wish.value === 'open';
  return (
    <div class={`g-foldable${open ? ' open' : ''}`}>
      <button
        type="button"
        class="g-fold"
        aria-expanded={open}
        onClick={() => {
          wish.value = open ? 'folded' : 'open';
        }}
      >
        <Icon name={open ? 'down' : 'right'} /> Legend
      </button>
      {open && children}
    </div>
  );
}
