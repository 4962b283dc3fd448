/** Hyperparameters and their sessions, followed while the logs grow. */
import { computed, effect, signal } from '@preact/signals';
import { getJson } from '../api/client.ts';
import { messageOf } from '../api/error_message.ts';
import { loaded, runs, series, tags } from './catalogue.ts';
import { serverBoot } from './server.ts';
import { withRunsBelow } from './session_runs.ts';

type Figure = number | string;

export interface HparamsReply {
  params: { name: string; kind: 'number' | 'string' | 'bool'; display: string; description: string }[];
  /** tag: null where no run ever wrote it. */
  metrics: {
    key: string;
    tag: number | null;
    name: string;
    display: string;
    group: string;
    description: string;
  }[];
  sessions: {
    run: number;
    /** Sessions of one group are repeats of each other. */
    group: string;
    values: Record<string, number | string | boolean>;
    status: string;
    start: number | null;
    end: number | null;
    metrics: Record<string, { last: Figure; min: Figure; max: Figure }>;
  }[];
}

const none: HparamsReply = { params: [], metrics: [], sessions: [] };

export const hparams = signal<HparamsReply>(none);
/** Why they could not be fetched; the request is repeated automatically. */
export const hparamsFailure = signal<string | null>(null);
/** Whether `hparams` is up to date with a response; without sessions in the catalogue none is needed. */
export const hparamsLoaded = signal(false);

/** Hyperparameters by the id of the run; a run below a session's run has that one's. */
export const hparamsByRun = computed(() => {
  const values = new Map(hparams.value.sessions.map((session) => [session.run, session.values]));
  return withRunsBelow(runs.value, values);
});

/** Between two requests while logs grow: metrics of all sessions are not a small reply. */
const LEAST_BETWEEN_MS = 2000;
const RETRY_MS = 3000;
let timer: ReturnType<typeof setTimeout> | undefined;
let requestedAt = -LEAST_BETWEEN_MS;
let request: AbortController | null = null;

effect(() => {
  // Anything may change it: a session's start, its end, and each point of a metric.
  void series.value;
  void runs.value;
  void serverBoot.value;
  if (!loaded.value) return;
  if (tags.value.some((tag) => tag.kind === 'hparams')) {
    schedule(requestedAt + LEAST_BETWEEN_MS - performance.now());
    return;
  }
  clearTimeout(timer);
  timer = undefined;
  request?.abort();
  put(none);
});

function schedule(wait: number): void {
  timer ??= setTimeout(
    () => {
      timer = undefined;
      void fetchHparams();
    },
    Math.max(0, wait),
  );
}

async function fetchHparams(): Promise<void> {
  // A response to an earlier request is ignored.
  request?.abort();
  const mine = new AbortController();
  request = mine;
  requestedAt = performance.now();
  try {
    const reply = await getJson<HparamsReply>('hparams', {}, mine.signal);
    if (!mine.signal.aborted) put(reply);
  } catch (error) {
    if (mine.signal.aborted) return;
    hparamsFailure.value = messageOf(error);
    schedule(RETRY_MS);
  }
}

function put(reply: HparamsReply): void {
  const { params, metrics, sessions } = reply;
  const old = hparams.peek();
  const same = JSON.stringify([params, metrics, sessions]);
  if (same !== JSON.stringify([old.params, old.metrics, old.sessions])) hparams.value = reply;
  hparamsFailure.value = null;
  hparamsLoaded.value = true;
}
