import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeColumns, numbers } from './columns.ts';

function reply(header: object, body: Uint8Array): ArrayBuffer {
  let text = JSON.stringify(header);
  while ((4 + text.length) % 8) text += ' ';
  const bytes = new ArrayBuffer(4 + text.length + body.length);
  new DataView(bytes).setUint32(0, text.length, true);
  new Uint8Array(bytes, 4).set(new TextEncoder().encode(text));
  new Uint8Array(bytes, 4 + text.length).set(body);
  return bytes;
}

test('columns are views at their offsets', () => {
  const body = new Uint8Array(24);
  new BigInt64Array(body.buffer, 0, 2).set([7n, -1n]);
  new Float32Array(body.buffer, 16, 2).set([0.5, NaN]);
  const { header, columns } = decodeColumns<{ rev: number }>(
    reply(
      {
        rev: 3,
        columns: [
          { name: 'step', dtype: 'i64', offset: 0, length: 2 },
          { name: 'y', dtype: 'f32', offset: 16, length: 2 },
        ],
      },
      body,
    ),
  );
  assert.equal(header.rev, 3);
  assert.deepEqual([...numbers(columns.step!)], [7, -1]);
  assert.deepEqual([...columns.y!], [0.5, NaN]);
});

test('bytes that are not a reply are rejected', () => {
  assert.throws(() => decodeColumns(new ArrayBuffer(2)), /no header/);
  assert.throws(() => decodeColumns(new Uint8Array([255, 255, 0, 0, 1]).buffer), /header of 65535/);
  assert.throws(
    () =>
      decodeColumns(
        reply({ columns: [{ name: 'a', dtype: 'f16', offset: 0, length: 0 }] }, new Uint8Array()),
      ),
    /unknown dtype f16/,
  );
});
