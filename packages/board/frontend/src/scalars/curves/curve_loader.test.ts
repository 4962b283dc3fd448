import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import '../../testing/page_stub.ts';

const { curvesOf, cancelCurves, requestCurves } = await import('./curve_loader.ts');
type Query = Parameters<typeof requestCurves>[1][number];

interface Sent {
  tags: number[];
  respond(): void;
  fail(status: number): void;
  aborted: boolean;
}

let sent: Sent[] = [];

/** A reply with a curve of one point for each query: its y is the tag. */
function reply(tags: number[]): ArrayBuffer {
  const columns = tags.map((_, i) => ({ name: `c${i}`, dtype: 'f64', offset: i * 8, length: 1 }));
  const curves = tags.map((_, i) => ({
    query: i,
    run: 1,
    n: 1,
    drawn: 1,
    columns: { x: `c${i}`, y: `c${i}` },
  }));
  const text = JSON.stringify({ curves, columns });
  const header = new TextEncoder().encode(text.padEnd(Math.ceil((text.length + 4) / 8) * 8 - 4));
  const bytes = new ArrayBuffer(4 + header.length + tags.length * 8);
  new DataView(bytes).setUint32(0, header.length, true);
  new Uint8Array(bytes, 4, header.length).set(header);
  new Float64Array(bytes, 4 + header.length).set(tags);
  return bytes;
}

globalThis.fetch = ((_: string, { body, signal }: { body: string; signal: AbortSignal | null }) => {
  const tags = (JSON.parse(body) as { queries: { tag: number }[] }).queries.map((query) => query.tag);
  return new Promise<Response>((resolve, reject) => {
    const one: Sent = {
      tags,
      aborted: false,
      respond: () => resolve(new Response(reply(tags))),
      fail: (status) => resolve(new Response(JSON.stringify({ error: 'no' }), { status })),
    };
    signal?.addEventListener('abort', () => {
      one.aborted = true;
      reject(new DOMException('aborted', 'AbortError'));
    });
    sent.push(one);
  });
}) as unknown as typeof fetch;

const query = (tag: number) => ({ tag, runs: [1] }) as Query;
const turns = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 1));
};

beforeEach(() => {
  sent = [];
});

test('queries of one frame share a request, and each owner gets its own curves', async () => {
  const got: unknown[] = [];
  for (const tag of [3, 4])
    requestCurves({}, [query(tag), query(tag + 10)], (lists) =>
      got.push(lists?.map((list) => list[0]?.y[0])),
    );
  await turns();
  assert.deepEqual(
    sent.map((one) => one.tags),
    [[3, 13, 4, 14]],
  );
  sent[0]!.respond();
  await turns();
  assert.deepEqual(got, [
    [3, 13],
    [4, 14],
  ]);
});

test('more queries than a request may have are several requests, in order', async () => {
  const tags = Array.from({ length: 40 }, (_, i) => i);
  let got: unknown[] | undefined;
  requestCurves({}, tags.map(query), (lists) => {
    got = lists?.map((list) => list[0]?.y[0]);
  });
  for (let i = 0; i < 3; i++) {
    await turns();
    sent[i]!.respond();
  }
  await turns();
  assert.deepEqual(
    sent.map((one) => one.tags.length),
    [16, 16, 8],
  );
  assert.deepEqual(got, tags);
});

test('a response that was cancelled or replaced is dropped, and its request is aborted', async () => {
  const owner = {};
  const got: unknown[] = [];
  requestCurves(owner, [query(1)], () => got.push('first'));
  await turns();
  requestCurves(owner, [query(2)], () => got.push('second'));
  await turns();
  assert.ok(sent[0]!.aborted);
  sent[1]!.respond();
  await turns();
  assert.deepEqual(got, ['second']);
  requestCurves(owner, [query(3)], () => got.push('third'));
  await turns();
  cancelCurves(owner);
  await turns();
  assert.ok(sent.at(-1)!.aborted);
  assert.deepEqual(got, ['second']);
});

test('one invalid query does not take the curves of the others', async () => {
  const got: [string | null, number | undefined][] = [];
  for (const tag of [5, 6])
    requestCurves({}, [query(tag)], (lists, error) => got.push([error, lists?.[0]?.[0]?.y[0]]));
  await turns();
  sent[0]!.fail(400);
  await turns();
  assert.deepEqual(
    sent.slice(1).map((one) => one.tags),
    [[5], [6]],
  );
  sent[1]!.fail(400);
  sent[2]!.respond();
  await turns();
  assert.deepEqual(got, [
    ['no', undefined],
    [null, 6],
  ]);
});

test('curves share the columns that the reply has once', () => {
  const x = Float64Array.of(1, 2);
  const curve = { query: 0, n: 2, drawn: 2, columns: { x: 'x', y: 'y' } };
  const columns = { x, y: Float32Array.of(3, 4) };
  const [list] = curvesOf(
    {
      header: {
        curves: [
          { ...curve, run: 7 },
          { ...curve, group: 0 },
        ],
      },
      columns,
    },
    1,
  );
  assert.equal(list![0]!.x, list![1]!.x);
  assert.deepEqual(
    list!.map((one) => [one.run, one.group, one.superseded]),
    [
      [7, null, 0],
      [null, 0, 0],
    ],
  );
});
