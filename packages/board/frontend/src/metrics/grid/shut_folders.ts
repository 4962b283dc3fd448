/** Which folders of cards are closed; part of the address. */
import { computed } from '@preact/signals';
import { list } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';
import { toggled } from '../../cards/card_address.ts';

/** As the first entry it turns the list round: all folders are closed but those that follow. */
const ALL = '**';

const listed = urlSignal<string[]>('shut', list, []);

/** Whether the folder of a path is closed. */
export const isShut = computed<(path: string) => boolean>(() => {
  const paths = new Set(listed.value);
  const all = listed.value[0] === ALL;
  return (path) => paths.has(path) !== all;
});

export function toggleFolder(path: string): void {
  listed.value = toggled(listed.peek(), path);
}

export function closeAllFolders(): void {
  listed.value = [ALL];
}

export function openAllFolders(): void {
  listed.value = [];
}
