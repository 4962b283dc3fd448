import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { TraceModel } from './trace_model.ts';

interface Call {
  url: URL;
  aborted: () => boolean;
  respond: (status?: number) => void;
}

const DURATION = 1_000_000;
const DTYPES = { lane: 'i32', start: 'f64', dur: 'f64', name: 'u32', op: 'i32', kind: 'u8', busy: 'f32' };
let calls: Call[] = [];

/** A reply of one slice, which begins where the window does. */
function reply(url: URL): ArrayBuffer {
  const t0 = Number(url.searchParams.get('t0') ?? 0);
  const t1 = Number(url.searchParams.get('t1') ?? DURATION);
  const columns = [...Object.entries(DTYPES), ['count', 'u32'], ['slice', 'i32'], ['wait', 'f64']];
  columns.push(['critical', 'f32']);
  const lane = { id: 0, task: '', task_title: '', device: '', device_title: '', thread: '', row: 0 };
  const header: Record<string, unknown> = {
    ...{ t0, t1, duration_ns: DURATION, analysed: true, names: ['a'], ops: ['A'], slices: 1 },
    lanes: [{ ...lane, slices: 1, busy_ns: 1 }],
    shown_lanes: [0],
    columns: columns.map(([name, dtype], i) => ({ name, dtype, offset: 8 * i, length: 1 })),
  };
  let text = JSON.stringify(header);
  text += ' '.repeat((4 + 8 - (text.length % 8)) % 8);
  const bytes = new ArrayBuffer(4 + text.length + 8 * columns.length);
  new DataView(bytes).setUint32(0, text.length, true);
  new Uint8Array(bytes, 4, text.length).set(new TextEncoder().encode(text));
  new Float64Array(bytes, 4 + text.length + 8, 1)[0] = t0;
  return bytes;
}

beforeEach(() => {
  calls = [];
  Object.assign(globalThis, {
    document: { baseURI: 'http://board/' },
    fetch: (address: string, { signal }: { signal: AbortSignal | null }) =>
      new Promise((resolve, reject) => {
        const url = new URL(address);
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
        const respond = (status = 200) =>
          resolve({
            ok: status === 200,
            status,
            json: async () => (status === 200 ? { stalls: [] } : { error: 'the disk is gone' }),
            arrayBuffer: async () => reply(url),
          });
        calls.push({ url, aborted: () => signal?.aborted ?? false, respond });
      }),
  });
});

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
const windows = () =>
  calls.filter(({ url }) => url.searchParams.has('t0') && !url.pathname.endsWith('memory'));

async function opened(): Promise<TraceModel> {
  const model = new TraceModel(3);
  const done = model.open(1000);
  calls[0]!.respond();
  await turn();
  calls[1]!.respond();
  await done;
  return model;
}

const at = (t0: number, t1: number) => ({ t0, t1, width: 1000, lanes: [0] });

test('two windows may be requested at once, and a third waits', async () => {
  const model = await opened();
  model.show(at(0, 500_000));
  model.show(at(0, 200_000));
  model.show(at(0, 100_000));
  model.show(at(0, 50_000));
  assert.equal(windows().length, 2);
  windows()[0]!.respond();
  await turn();
  assert.equal(windows().length, 3);
  assert.equal(Number(windows()[2]!.url.searchParams.get('t1')), 52_000);
  windows()[2]!.respond();
  await turn();
  assert.ok(model.settled);
});

test('a late reply does not replace a newer one', async () => {
  const model = await opened();
  model.show(at(0, 500_000));
  model.show(at(300_000, 310_000));
  windows()[1]!.respond();
  await turn();
  const sharp = model.items;
  assert.ok(model.settled);
  windows()[0]!.respond();
  await turn();
  assert.equal(model.items, sharp);
});

test('a failed trace is read again on retry', async () => {
  const model = new TraceModel(3);
  const done = model.open(1000);
  calls[0]!.respond(500);
  await done;
  assert.equal(model.failure.value, 'the disk is gone');
  assert.equal(model.header.peek(), null);
  model.retry(1000);
  calls[1]!.respond();
  await turn();
  assert.equal(model.failure.value, null);
  assert.equal(model.header.peek()?.duration_ns, DURATION);
});

test('a failed window is not requested again, but another window is', async () => {
  const model = await opened();
  model.show(at(0, 100_000));
  windows()[0]!.respond(500);
  await turn();
  assert.equal(model.windowFailure.value, 'the disk is gone');
  model.show(at(0, 100_000));
  assert.equal(windows().length, 1);
  model.show(at(0, 10_000));
  assert.equal(windows().length, 2);
  windows()[1]!.respond();
  await turn();
  assert.equal(model.windowFailure.value, null);
});
