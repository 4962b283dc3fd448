/** The panels that are shown, and the one that is being written. */
import { computed, effect, signal } from '@preact/signals';
import { getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { showMessage } from '../../browser/messages.ts';
import { meta, tags } from '../../state/catalogue.ts';
import { savedDocument } from '../../storage/saved_document.ts';
import { ABOVE, moved, type NamedPanel, type Panels, panelsByPlace, without, withText } from './panels.ts';

const saved = savedDocument<Panels>('panels', {});
/** Those of a state file that this board reads only. */
const published = signal<Panels>({});

/** Whether panels may be changed: the board has a state file that it can write. */
export const canEdit = computed(() => meta.value?.read_only === false);

effect(() => {
  if (!meta.value?.read_only) return;
  getJson<{ document: Panels | null }>('state/panels').then(
    ({ document }) => {
      published.value = document ?? {};
    },
    (error) => showMessage(`The panels could not be read: ${messageOf(error)}`),
  );
});

export interface Draft {
  id: string;
  place: string;
  text: string;
  isNew: boolean;
}

/** It outlives its editor, which leaves the document when it is scrolled out of sight. */
export const draft = signal<Draft | null>(null);

/** Whether tags of the log, or the page, make a folder, though it may be hidden now. */
const isPlace = (place: string): boolean =>
  place === '' || place.startsWith('*') || tags.value.some((tag) => tag.name.startsWith(`${place}/`));

/** Panels of folders that no longer exist are above the cards. */
const shown = computed(() => {
  const found = panelsByPlace(canEdit.value ? saved.value : published.value);
  const lost = [...found].flatMap(([place, panels]) => (isPlace(place) ? [] : panels));
  return lost.length > 0 ? found.set(ABOVE, [...(found.get(ABOVE) ?? []), ...lost]) : found;
});

/** The panels of a place, in their order; a new one that is being written is the last. */
export function panelsAt(place: string): NamedPanel[] {
  const found = shown.value.get(place) ?? [];
  const written = draft.value;
  return written?.isNew && written.place === place ? [...found, { ...written, order: 0 }] : found;
}

/** Opens the editor of a new panel; nothing happens while another one is open. */
export function addPanel(place: string): void {
  if (draft.peek() || !canEdit.peek()) return;
  const id = `p${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
  draft.value = { id, place, text: '', isNew: true };
}

export function editPanel({ id, place, text }: NamedPanel): void {
  if (!draft.peek() && canEdit.peek()) draft.value = { id, place, text, isNew: false };
}

/** Saves the draft; one without text removes its panel. */
export function saveDraft(): void {
  const written = draft.peek();
  if (!written) return;
  const { id, place, text } = written;
  saved.value = text.trim() === '' ? without(saved.peek(), id) : withText(saved.peek(), id, place, text);
  draft.value = null;
}

export function removePanel(id: string): void {
  saved.value = without(saved.peek(), id);
}

export function movePanel(id: string, by: -1 | 1): void {
  saved.value = moved(saved.peek(), id, by);
}

/** The panels that are saved, for the sum of their sizes. */
export const savedPanels = (): Panels => saved.value;
