import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choice, flag, formatAddress, list, number, optionalNumber, parseAddress } from './url_codec.ts';

test('lists of any texts survive encoding and decoding', () => {
  for (const items of [[], [''], ['', ''], ['a'], ['a,b', 'c\\', ',', '\\,'], ['ü/é', '&=?#%']]) {
    assert.deepEqual(list.decode(list.encode(items)), items, JSON.stringify(items));
  }
});

test('an address survives encoding and decoding with its page and its parameters', () => {
  const parameters = new Map([
    ['runs', 'a/b,c\\,d'],
    ['q', 'loss|acc.*&x=1#~:%3A'],
    ['e', ''],
  ]);
  const address = parseAddress(formatAddress({ page: 'metrics', parameters }));
  assert.equal(address.page, 'metrics');
  assert.deepEqual([...address.parameters], [...parameters]);
});

test('an invalid value leaves the default', () => {
  assert.equal(number.decode('x'), undefined);
  assert.equal(number.decode(''), undefined);
  assert.equal(optionalNumber.decode(''), null);
  assert.equal(flag.decode('yes'), undefined);
  assert.equal(choice('a', 'b').decode('c'), undefined);
});
