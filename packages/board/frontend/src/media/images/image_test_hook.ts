/** window.__board.images: what each image card shows, and how long it took to paint. */
import { expose } from '../../testing/test_hook.ts';
import type { PaneState } from './image_pane.tsx';

interface Shown {
  tag: string;
  step: number | null;
  steps: number;
  own: boolean;
  states: ReadonlyMap<string, PaneState>;
}
const cards = new Map<string, () => Shown>();

export function exposeImages(id: string, read: () => Shown): () => void {
  cards.set(id, read);
  return () => {
    if (cards.get(id) === read) cards.delete(id);
  };
}

expose('images', () =>
  [...cards].map(([id, read]) => {
    const { states, ...rest } = read();
    return { id, ...rest, panes: [...states].map(([run, state]) => ({ run, ...state })) };
  }),
);
