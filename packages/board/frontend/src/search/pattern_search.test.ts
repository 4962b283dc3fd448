import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import type { PatternReply, PatternRequest } from './pattern_protocol.ts';
import { PatternSearch, type PatternWorker } from './pattern_search.ts';

type Said = PatternReply<number[]> extends infer R ? (R extends unknown ? Omit<R, 'serial'> : never) : never;

/** A worker that replies when the test says so, and never while it is stuck. */
class FakeWorker implements PatternWorker {
  onmessage: ((event: MessageEvent) => void) | null = null;
  readonly requests: PatternRequest<string[]>[] = [];
  readonly fail: (why: string) => void;
  ended = false;

  constructor(fail: (why: string) => void) {
    this.fail = fail;
  }

  get patterns(): string[] {
    return this.requests.flatMap((request) => (request.kind === 'find' ? [request.pattern] : []));
  }

  postMessage(message: unknown): void {
    this.requests.push(message as PatternRequest<string[]>);
  }

  terminate(): void {
    this.ended = true;
  }

  say(reply: Said): void {
    const last = this.requests.at(-1)!;
    assert.ok(last.kind === 'find');
    this.onmessage?.({ data: { ...reply, serial: last.serial } } as MessageEvent);
  }
}

let workers: FakeWorker[] = [];
let now = 0;

function search(): PatternSearch<string[], number[]> {
  workers = [];
  return new PatternSearch<string[], number[]>(['a', 'b'], (failed) => {
    workers.push(new FakeWorker(failed));
    return workers.at(-1)!;
  });
}

/** Time passes, `late` of it before the timers of the page get their turn. */
function pass(milliseconds: number, late = 0): void {
  now += milliseconds + late;
  mock.timers.tick(milliseconds);
}

beforeEach(() => {
  now = 1;
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(performance, 'now', () => now);
});

afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

test('a pattern that waits for a stuck one gets its own result, and time from when its worker begins', async () => {
  const box = search();
  const stuck = box.find('(a+)+$');
  workers[0]!.say({ kind: 'progress' });
  pass(150);
  const quick = box.find('b');
  pass(60);
  assert.equal(await stuck, null);
  assert.ok(workers[0]!.ended);
  const [, second] = workers;
  assert.deepEqual(second!.requests[0], { kind: 'names', names: ['a', 'b'] });
  pass(5000);
  second!.say({ kind: 'progress' });
  pass(150);
  second!.say({ kind: 'found', found: [1] });
  assert.deepEqual(await quick, { kind: 'found', found: [1] });
  pass(5000);
  assert.ok(!second!.ended);
});

test('a stuck pattern is stopped within a quarter of a second', async () => {
  const box = search();
  const stuck = box.find('(a+)+$');
  workers[0]!.say({ kind: 'progress' });
  pass(205);
  assert.deepEqual(await stuck, { kind: 'slow', text: 'This pattern takes too long; it was stopped.' });
});

test('a slow machine does not make a pattern slow: progress and late timers get it more time', async () => {
  const box = search();
  const found = box.find('b');
  workers[0]!.say({ kind: 'progress' });
  for (let i = 0; i < 5; i++) {
    pass(150);
    workers[0]!.say({ kind: 'progress' });
  }
  pass(200, 400);
  assert.ok(!workers[0]!.ended);
  workers[0]!.say({ kind: 'found', found: [1] });
  assert.deepEqual(await found, { kind: 'found', found: [1] });
});

test('a pattern that is slow for every name is stopped, too', async () => {
  const box = search();
  const slow = box.find('(.*)*(.*)*x');
  workers[0]!.say({ kind: 'progress' });
  for (let i = 0; i < 21; i++) {
    pass(100);
    if (!workers[0]!.ended) workers[0]!.say({ kind: 'progress' });
  }
  assert.equal((await slow)!.kind, 'slow');
});

test('only the newest waiting pattern is searched', async () => {
  const box = search();
  const [one, two, three] = ['one', 'two', 'three'].map((pattern) => box.find(pattern));
  assert.equal(await two, null);
  workers[0]!.say({ kind: 'found', found: [1] });
  assert.equal(await one, null);
  assert.deepEqual(workers[0]!.patterns, ['one', 'three']);
  workers[0]!.say({ kind: 'found', found: [2] });
  assert.deepEqual(await three, { kind: 'found', found: [2] });
});

test('an invalid pattern is reported, and a lost worker is replaced', async () => {
  const box = search();
  const invalid = box.find('(');
  workers[0]!.say({ kind: 'invalid', text: 'Unterminated group' });
  assert.deepEqual(await invalid, { kind: 'invalid', text: 'Unterminated group' });
  const lost = box.find('x');
  workers[0]!.fail('out of memory');
  assert.deepEqual(await lost, { kind: 'failed', text: 'out of memory' });
  const next = box.find('y');
  workers[1]!.say({ kind: 'found', found: [] });
  assert.equal((await next)?.kind, 'found');
});

test('a closed search ends what waits for it', async () => {
  const box = search();
  const [one, two] = [box.find('one'), box.find('two')];
  box.close();
  assert.deepEqual([await one, await two], [null, null]);
  assert.ok(workers[0]!.ended);
});
