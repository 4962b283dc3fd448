import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { CLOSED, type ViewState } from '../model/view_state.ts';
import type { SceneMessage } from '../scene/indexed_scene.ts';
import type { LayoutRequest } from '../scene/layout.worker.ts';
import { LayoutClient } from './layout_client.ts';

class FakeWorker extends EventTarget {
  readonly fail: (why: string) => void;
  readonly requests: (LayoutRequest & { kind: 'layout' })[] = [];
  ended = false;
  constructor(fail: (why: string) => void) {
    super();
    this.fail = fail;
  }
  postMessage(request: LayoutRequest): void {
    if (request.kind === 'layout') this.requests.push(request);
  }
  terminate(): void {
    this.ended = true;
  }
  reply(i: number): void {
    const data = { serial: this.requests[i]!.serial };
    this.dispatchEvent(Object.assign(new Event('message'), { data }));
  }
}

function client() {
  const workers: FakeWorker[] = [];
  const shown: ViewState[] = [];
  const layout = new LayoutClient(
    (failed) => {
      workers.push(new FakeWorker(failed));
      return workers.at(-1) as unknown as Worker;
    },
    () => ({ kind: 'load', bundle: new ArrayBuffer(1), font: '' }),
    (_: SceneMessage, view) => shown.push(view),
  );
  return { layout, workers, shown };
}

const views = [1, 2, 3].map((n): ViewState => ({ ...CLOSED, open: new Set([n]) }));

test('views that are superseded are not laid out, and their scenes not shown', () => {
  const { layout, workers, shown } = client();
  for (const view of views) layout.request(view);
  const [worker] = workers;
  worker!.reply(0);
  assert.deepEqual(
    worker!.requests.map((r) => r.view),
    [views[0], views[2]],
  );
  assert.deepEqual(shown, []);
  worker!.reply(1);
  assert.deepEqual(shown, [views[2]]);
  assert.equal(layout.busy.value, false);
});

test('a long superseded layout is cancelled', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { layout, workers, shown } = client();
  layout.request(views[0]!);
  layout.request(views[1]!);
  mock.timers.tick(1000);
  assert.ok(workers[0]!.ended);
  workers[1]!.reply(0);
  assert.deepEqual(shown, [views[1]]);
  mock.timers.reset();
});

test('a cancelled layout never shows, and the next view is laid out', () => {
  const { layout, workers, shown } = client();
  layout.request(views[0]!);
  layout.cancel();
  assert.ok(workers[0]!.ended);
  assert.equal(layout.busy.value, false);
  layout.request(views[1]!);
  workers[0]!.reply(0);
  workers[1]!.reply(0);
  assert.deepEqual(shown, [views[1]]);
});

test('a failed worker reports why, and retry starts another', () => {
  const { layout, workers, shown } = client();
  layout.request(views[0]!);
  workers[0]!.fail('too much recursion');
  assert.equal(layout.failure.value, 'too much recursion');
  assert.equal(layout.busy.value, false);
  layout.retry();
  assert.equal(layout.failure.value, null);
  workers[1]!.reply(0);
  assert.deepEqual(shown, [views[0]]);
  // After a failure another view, too, is laid out, and only that.
  layout.request(views[1]!);
  workers[1]!.fail('again');
  layout.request(views[2]!);
  workers[2]!.reply(0);
  assert.deepEqual(shown, [views[0], views[2]]);
  assert.equal(workers[2]!.requests.length, 1);
});
