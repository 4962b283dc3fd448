import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NameSearch, type SearchWorker } from './name_search.ts';

/** A worker that replies when the test says so, and never while it is stuck. */
class FakeWorker implements SearchWorker {
  onmessage: ((event: MessageEvent) => void) | null = null;
  readonly requests: string[] = [];
  ended = false;

  postMessage(message: unknown): void {
    const { pattern } = message as { pattern?: string };
    if (pattern !== undefined) this.requests.push(pattern);
  }

  terminate(): void {
    this.ended = true;
  }

  say(data: unknown): void {
    this.onmessage?.({ data } as MessageEvent);
  }
}

function searchWithin(mostMs: number): { search: NameSearch; workers: FakeWorker[] } {
  const workers: FakeWorker[] = [];
  const search = new NameSearch(
    () => {
      workers.push(new FakeWorker());
      return workers.at(-1)!;
    },
    ['a'],
    mostMs,
  );
  return { search, workers };
}

test('the time limit of a search starts when its worker has the names', async () => {
  const { search, workers } = searchWithin(20);
  const reply = search.find('x');
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.deepEqual(workers[0]!.requests, []);
  workers[0]!.say({ ready: true });
  assert.deepEqual(workers[0]!.requests, ['x']);
  workers[0]!.say({ found: [3] });
  assert.deepEqual((await reply)!.found, [3]);
});

test('the newest pattern is searched next, those between are skipped', async () => {
  const { search, workers } = searchWithin(10_000);
  workers[0]!.say({ ready: true });
  const [first, second, third] = ['a', 'b', 'c'].map((pattern) => search.find(pattern));
  assert.equal(await second, null);
  workers[0]!.say({ found: [1] });
  workers[0]!.say({ found: [2] });
  assert.deepEqual([(await first)!.found, (await third)!.found], [[1], [2]]);
  assert.deepEqual(workers[0]!.requests, ['a', 'c']);
});

test('an endless pattern is stopped with its worker, and the next one gets a new worker', async () => {
  const { search, workers } = searchWithin(20);
  workers[0]!.say({ ready: true });
  const stuck = search.find('(a+)+$');
  const next = search.find('b');
  assert.equal((await stuck)!.wrong, 'time');
  assert.ok(workers[0]!.ended);
  workers[1]!.say({ ready: true });
  workers[1]!.say({ found: [5] });
  const reply = (await next)!;
  assert.deepEqual([reply.wrong, reply.found], [null, [5]]);
  await new Promise((resolve) => setTimeout(resolve, 40));
  assert.ok(!workers[1]!.ended);
});

test('an invalid pattern is reported', async () => {
  const { search, workers } = searchWithin(1000);
  workers[0]!.say({ ready: true });
  const reply = search.find('(');
  workers[0]!.say({ error: 'unterminated group' });
  assert.deepEqual([(await reply)!.wrong, (await reply)!.message], ['pattern', 'unterminated group']);
});
