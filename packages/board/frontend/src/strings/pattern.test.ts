import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patternOf } from './pattern.ts';

const TEXTS = [
  ...['', 'a', 'b', 'aa', 'ab', 'ba', 'aab', 'abb', 'abab', 'ab/ab', 'loss', 'train/loss', 'eval/Loss'],
  ...['x-1', 'run_12', 'run_3', 'lr=0.1,wd=2', 'a.b', 'a\nb', '{2}', 'a{2}', '[x]', 'é/É', 'foo bar', 'aaaa'],
];
const PATTERNS = [
  ...['', 'a', 'a|b', 'a*', 'a+', 'a?', '^a', 'a$', '^$', 'a*?b', '(a|b)*', '(a+)+$', '(a|ab)(c|bcd)?'],
  ...['a{2}', 'a{2,}', 'a{1,3}', 'a{0}', '[ab]', '[^ab]', '[a-b]+', '[-a]', '[a-]', '[\\d_]+', '[^\\d]'],
  ...['[\\]x]', '\\d+', '\\D', '\\w+/\\w+', '\\bloss\\b', '\\Boss', '.', 'a.b', '(?:train|eval)/loss'],
  ...['(train|eval)/(.*)', '^(.*?)[_-]?\\d*$', '(?<name>run)_(\\d+)', '\\x61', '\\u0061', '\\.', '\\/'],
  ...['loss.*|acc', '(a)|(b)', 'é', '\\n', '\\s', '()'],
];

test('patterns match what regular expressions match, with the same groups', () => {
  for (const source of PATTERNS) {
    for (const ignoreCase of [false, true]) {
      const expression = new RegExp(source, ignoreCase ? 'i' : '');
      const pattern = patternOf(source, { ignoreCase });
      assert.equal(pattern.error, null, source);
      for (const text of TEXTS) {
        const match = expression.exec(text);
        assert.equal(pattern.test(text), match !== null, `${source} ${JSON.stringify(text)}`);
        assert.deepEqual(pattern.exec(text), match && [...match], `${source} ${JSON.stringify(text)}`);
      }
    }
  }
});

test('an invalid or unsupported pattern is reported', () => {
  const wrong = ['(', 'a)', '[a', '*', '\\', 'a{3,1}', '[b-a]', '(a)\\1', '(?=a)b', '(?<=a)b'];
  for (const source of [...wrong, 'a'.repeat(2000), '((a{99}){99}){99}', '('.repeat(900)]) {
    const pattern = patternOf(source);
    assert.ok(pattern.error, source.slice(0, 40));
    assert.equal(pattern.test('aab'), false);
  }
});

test('patterns that take for ever elsewhere take steps in proportion to the text', () => {
  const text = `${'a'.repeat(5000)}!`;
  for (const source of ['(a+)+$', '(a|a)*x', '(a?a?)+x', '(.*)*x', '(x+x+)+y', '.*.*.*.*.*z', '(?:a*)*b']) {
    const pattern = patternOf(source);
    assert.equal(pattern.error, null, source);
    assert.equal(pattern.test(text), false, source);
  }
});

test('a pattern from the start does not match further in', () => {
  assert.equal(patternOf('oss', { fromStart: true }).test('loss'), false);
  assert.equal(patternOf('loss|acc', { fromStart: true }).test('accuracy'), true);
});

test('the reason of a wrong pattern quotes the pattern as it was written', () => {
  for (const ignoreCase of [false, true]) {
    assert.match(patternOf('loss(', { ignoreCase }).error!, /missing closing \): `loss\(`/);
  }
});
