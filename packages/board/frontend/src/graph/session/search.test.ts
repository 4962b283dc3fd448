import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { sampleGraph } from '../model/sample_graph.ts';
import { Search } from './search.ts';
import type { SearchReply, SearchRequest } from './search.worker.ts';

/** A worker that takes a pattern when the test says so, and ends with it when the test says so. */
class FakeWorker extends EventTarget {
  static all: FakeWorker[] = [];
  readonly requests: (SearchRequest & { kind: 'find' })[] = [];
  readonly fail: (why: string) => void;
  ended = false;
  constructor(fail: (why: string) => void) {
    super();
    this.fail = fail;
    FakeWorker.all.push(this);
  }
  postMessage(request: SearchRequest): void {
    if (request.kind === 'find') this.requests.push(request);
  }
  terminate(): void {
    this.ended = true;
  }
  say(reply: Partial<SearchReply>): void {
    const { serial } = this.requests.at(-1)!;
    const data = { serial, found: [], count: 0, ...reply };
    this.dispatchEvent(Object.assign(new Event('message'), { data }));
  }
}

function search(): Search {
  FakeWorker.all = [];
  return new Search(
    sampleGraph(['a: NoOp', 'b: NoOp']),
    (failed) => new FakeWorker(failed) as unknown as Worker,
  );
}

test('a pattern that waits for a slow one gets its own result', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const box = search();
  const slow = box.find('(a+)+$');
  const [first] = FakeWorker.all;
  first!.say({ begun: true });
  mock.timers.tick(150);
  const quick = box.find('b');
  mock.timers.tick(60);
  assert.equal(await slow, null);
  assert.ok(first!.ended);
  const second = FakeWorker.all[1]!;
  assert.equal(second.requests[0]!.pattern, 'b');
  // Its own time only counts from when the worker has the names and begins.
  mock.timers.tick(5000);
  second.say({ begun: true });
  mock.timers.tick(150);
  second.say({ found: [1], count: 1 });
  const outcome = await quick;
  assert.equal(outcome?.kind === 'found' && outcome.found[0], 1);
  assert.ok(!second.ended);
  mock.timers.reset();
});

test('only the newest waiting pattern is searched', async () => {
  const box = search();
  const one = box.find('one');
  const two = box.find('two');
  const three = box.find('three');
  const [worker] = FakeWorker.all;
  worker!.say({ begun: true });
  worker!.say({});
  assert.equal(await one, null);
  assert.equal(await two, null);
  assert.deepEqual(
    worker!.requests.map((r) => r.pattern),
    ['one', 'three'],
  );
  worker!.say({ begun: true });
  worker!.say({ count: 0 });
  assert.equal((await three)?.kind, 'found');
});

test('a failed worker is reported, and the next pattern gets a new one', async () => {
  const box = search();
  const lost = box.find('x');
  FakeWorker.all[0]!.fail('out of memory');
  const outcome = await lost;
  assert.match(outcome?.kind === 'error' ? outcome.text : '', /out of memory/);
  const next = box.find('y');
  FakeWorker.all[1]!.say({ begun: true });
  FakeWorker.all[1]!.say({ count: 0 });
  assert.equal((await next)?.kind, 'found');
});
