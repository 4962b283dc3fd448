/** Hyperparameters and their sessions, fetched once the catalogue says that there are any. */
import { computed, effect, signal } from '@preact/signals';
import { getJson } from '../api/client.ts';
import { loaded, tags } from './catalogue.ts';

export interface HparamsReply {
  params: { name: string; kind: 'number' | 'string' | 'bool'; display: string; description: string }[];
  metrics: { tag: number; display: string; group: string }[];
  sessions: {
    run: number;
    values: Record<string, number | string | boolean>;
    status: string;
    start: number | null;
    end: number | null;
    metrics: Record<string, { last: number; min: number; max: number }>;
  }[];
}

export const hparams = signal<HparamsReply>({ params: [], metrics: [], sessions: [] });

/** Hyperparameters by the id of the run; a run below a session's run has that one's. */
export const hparamsByRun = computed(
  () => new Map(hparams.value.sessions.map((session) => [session.run, session.values])),
);

let known = '';

effect(() => {
  if (!loaded.value) return;
  const sources = tags.value.filter((tag) => tag.kind === 'hparams').map((tag) => tag.id);
  if (sources.length === 0) return;
  const now = `${sources.join()}/${tags.value.length}`;
  if (now === known) return;
  known = now;
  void getJson<HparamsReply>('hparams').then(
    (reply) => {
      hparams.value = reply;
    },
    () => {
      known = '';
    },
  );
});
