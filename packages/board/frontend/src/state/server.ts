/** The server process: which one responds, and how far it has read the logs. */
import { computed, signal } from '@preact/signals';
import { latest } from '../api/live.ts';

/** Names the process whose ids the catalogue has; "" before the first response. Set by the catalogue. */
export const serverBoot = signal('');

const drops: (() => void)[] = [];

/** Adds what forgets all that is known by ids; called after a restart, before the new catalogue is there. */
export function onServerRestart(drop: () => void): void {
  drops.push(drop);
}

/** Records that another process responds now. */
export function enterBoot(boot: string): void {
  const before = serverBoot.peek();
  if (boot === before) return;
  if (before !== '') for (const drop of drops) drop();
  serverBoot.value = boot;
}

/** Whether the logs are still being read for the first time: data may be incomplete. */
export const loading = computed(() => latest.value?.loading ?? true);

/** How far reading is; null before the first response. */
export const reading = computed(() => {
  const news = latest.value;
  return news && { files: news.files, bytesDone: news.bytes_done, bytesTotal: news.bytes_total };
});
