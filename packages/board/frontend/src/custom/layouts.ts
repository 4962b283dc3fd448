/** Layouts that users made or changed, by the name of the tag: saved beside the logs, never in them. */

import type { Tag } from '../api/types.ts';
import { NO_TAG } from '../cards/card.ts';
import { savedDocument } from '../storage/saved_document.ts';
import type { Layout } from './layout.ts';

export const layouts = savedDocument<Record<string, Layout>>('layouts', {});

/** The tag under which a layout that no log has is shown. */
export const layoutTag = (name: string): Tag => ({
  id: NO_TAG,
  name,
  kind: 'custom_scalars',
  plugin: '',
  display: '',
  description: '',
});

export const isUserLayout = (tag: Tag): boolean => tag.id === NO_TAG;

/** Keeps a layout; null forgets it. */
export function keepLayout(name: string, layout: Layout | null): void {
  const { [name]: _, ...rest } = layouts.peek();
  layouts.value = layout ? { ...rest, [name]: layout } : rest;
}

/** Starts a layout under a name that is free. */
export function newLayout(taken: string[]): void {
  let name = 'layout';
  for (let i = 2; taken.includes(name) || Object.hasOwn(layouts.peek(), name); i++) name = `layout ${i}`;
  keepLayout(name, { categories: [] });
}
