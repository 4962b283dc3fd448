import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSaver, type SaveState } from './saver.ts';

type Doc = Record<string, string>;

class HttpError extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** A server with one document, and a page with another; the server responds when the test lets it. */
function scene(saved: Doc | null, page: Doc, base: Doc = page, adopts = false) {
  const server = { document: saved, revision: saved ? 1 : 0, writes: [] as Doc[], fails: [] as unknown[] };
  const held: (() => void)[] = [];
  const state = { now: page, holding: false, states: [] as SaveState[], waits: [] as (() => void)[] };
  const reply = async () => {
    if (state.holding) await new Promise<void>((go) => held.push(go));
    const failure = server.fails.shift();
    if (failure) throw failure;
  };
  const saver = createSaver<Doc>({
    mine: {
      peek: () => state.now,
      set: (document) => {
        state.now = document;
      },
    },
    base,
    empty: {},
    adopts,
    remote: {
      read: async () => {
        await reply();
        return { document: server.document, revision: server.revision };
      },
      write: async (revision, document) => {
        server.writes.push(document);
        await reply();
        if (revision !== server.revision) throw new HttpError(409);
        server.document = document;
        return ++server.revision;
      },
    },
    onState: (one) => state.states.push(one),
    later: (call) => state.waits.push(call),
  });
  const rest = async () => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };
  return { server, state, saver, rest, held };
}

test('the saved document is shown, and nothing is written', async () => {
  const { server, state, saver, rest } = scene({ a: '1' }, {});
  saver.save();
  await rest();
  assert.deepEqual(state.now, { a: '1' });
  assert.deepEqual(server.writes, []);
  assert.equal(state.states.at(-1)!.state, 'saved');
});

test('changes before the first response are merged with it and saved', async () => {
  const { server, state, saver, rest } = scene({ a: '1', b: 'theirs' }, {});
  state.now = { mine: 'early' };
  saver.save();
  await rest();
  assert.deepEqual(state.now, { a: '1', b: 'theirs', mine: 'early' });
  assert.deepEqual(server.document, state.now);
});

test('typing during a slow save is one more save, and no conflict', async () => {
  const { server, state, saver, rest, held } = scene({}, {});
  saver.save();
  await rest();
  state.holding = true;
  state.now = { a: 'first' };
  saver.save();
  await rest();
  state.now = { a: 'second' };
  saver.save();
  saver.save();
  await rest();
  assert.equal(server.writes.length, 1, 'one request at a time');
  state.holding = false;
  held.forEach((go) => {
    go();
  });
  await rest();
  assert.deepEqual(server.writes, [{ a: 'first' }, { a: 'second' }]);
  assert.deepEqual(server.document, { a: 'second' });
  assert.equal(server.revision, 3);
});

test('after a conflict both pages’ changes are there', async () => {
  const { server, state, saver, rest } = scene({ a: '1', gone: 'x' }, { a: '1', gone: 'x' });
  saver.save();
  await rest();
  server.document = { a: '1', gone: 'x', theirs: 'new' };
  server.revision = 7;
  state.now = { a: 'mine' };
  saver.save();
  await rest();
  assert.deepEqual(server.document, { a: 'mine', theirs: 'new' });
  assert.deepEqual(state.now, server.document);
  assert.equal(state.states.at(-1)!.state, 'saved');
});

test('without a connection the page keeps its document, reports it and tries again', async () => {
  const { server, state, saver, rest } = scene({}, {});
  saver.save();
  await rest();
  server.fails = [new TypeError('fetch failed'), new HttpError(503)];
  state.now = { note: 'kept' };
  saver.save();
  await rest();
  assert.deepEqual(state.states.at(-1), { state: 'retrying', why: 'fetch failed' });
  assert.deepEqual(state.now, { note: 'kept' });
  state.waits.pop()!();
  await rest();
  assert.deepEqual(state.states.at(-1), { state: 'retrying', why: 'status 503' });
  state.waits.pop()!();
  await rest();
  assert.equal(state.states.at(-1)!.state, 'saved');
  assert.deepEqual(server.document, { note: 'kept' });
});

test('a failed first read is tried again and loses nothing', async () => {
  const { server, state, saver, rest } = scene({ a: '1' }, {});
  server.fails = [new TypeError('fetch failed')];
  state.now = { mine: 'x' };
  saver.save();
  await rest();
  assert.equal(state.states.at(-1)!.state, 'retrying');
  state.waits.pop()!();
  await rest();
  assert.deepEqual(server.document, { a: '1', mine: 'x' });
});

test('a document that is too large is rejected and stays in the page, and a smaller one is saved', async () => {
  const { server, state, saver, rest } = scene({}, {});
  saver.save();
  await rest();
  server.fails = [new HttpError(413)];
  state.now = { note: 'much' };
  saver.save();
  await rest();
  assert.deepEqual(state.states.at(-1), { state: 'rejected', why: 'status 413' });
  assert.deepEqual(state.now, { note: 'much' });
  assert.equal(state.waits.length, 0);
  state.now = { note: 'less' };
  saver.save();
  await rest();
  assert.deepEqual(server.document, { note: 'less' });
  assert.equal(state.states.at(-1)!.state, 'saved');
});

test('changes of an earlier visit that were never saved are saved now', async () => {
  const { server, saver, rest } = scene(
    { a: '1', b: '2', c: '3' },
    { a: 'mine', b: '2' },
    { a: '1', b: '2' },
  );
  saver.save();
  await rest();
  assert.deepEqual(server.document, { a: 'mine', b: '2', c: '3' });
});

test('a new file takes the document of the browser only where that is wanted', async () => {
  for (const adopts of [true, false]) {
    const { server, state, saver, rest } = scene(null, { a: 'local' }, undefined, adopts);
    saver.save();
    await rest();
    assert.deepEqual(server.document, adopts ? { a: 'local' } : null);
    assert.deepEqual(state.now, adopts ? { a: 'local' } : {});
  }
});

test('a file that is deleted while the page is open is written again', async () => {
  const { server, state, saver, rest } = scene({ a: '1' }, {});
  saver.save();
  await rest();
  server.document = null;
  server.revision = 0;
  state.now = { ...state.now, b: '2' };
  saver.save();
  await rest();
  assert.deepEqual(server.document, { a: '1', b: '2' });
});

test('a refresh fetches what another page saved', async () => {
  const { server, state, saver, rest } = scene({ a: '1' }, {});
  saver.save();
  await rest();
  server.document = { a: '1', b: 'theirs' };
  server.revision = 2;
  saver.refresh();
  await rest();
  assert.deepEqual(state.now, { a: '1', b: 'theirs' });
  assert.deepEqual(server.writes, []);
});
