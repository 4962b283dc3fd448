/**
 * What the box above the runs understands: plain text (all letters in order), a regular expression, or a
 * condition such as `acc > 0.9 and not name ~ "old" or min(loss) < 1e-3`. `tag:best` is a tag that a reader gave.
 */
import { type Pattern, patternOf } from '../strings/pattern.ts';

export type Value = number | string | boolean | undefined;

/** What a query may read of a run; `field` may be a hyperparameter, a tag (its last value) or name, steps. */
export interface Subject {
  name: string;
  field(name: string, of: 'last' | 'min' | 'max'): Value;
  /** The tags that readers gave the run. */
  labels(): string[];
}

export interface Query {
  matches(subject: Subject): boolean;
  /** The fields that it reads, so that they can be fetched and shown. */
  fields: string[];
  kind: 'empty' | 'text' | 'regex' | 'condition';
  error: string | null;
}

type Test = (subject: Subject) => boolean;

const everything: Query = { matches: () => true, fields: [], kind: 'empty', error: null };

export function parseQuery(text: string): Query {
  const trimmed = text.trim();
  if (trimmed === '') return everything;
  if (/[<>=~]/.test(trimmed)) {
    try {
      return condition(trimmed);
    } catch (error) {
      return { ...everything, kind: 'condition', error: (error as Error).message };
    }
  }
  return { ...nameFilter(trimmed), fields: [] };
}

/** A filter of names: a regular expression if it looks like one, else words; `tag:x` is a reader's tag. */
export function nameFilter(text: string): { matches: Test; kind: 'text' | 'regex'; error: string | null } {
  const label = /^tag:(.+)$/is.exec(text)?.[1];
  if (label === undefined && /[\\^$*+?()[\]{}|]/.test(text)) {
    const pattern = patternOf(text, { ignoreCase: true });
    const error = patternError(text, pattern);
    return { matches: ({ name }) => error !== null || pattern.test(name), kind: 'regex', error };
  }
  // A label may hold spaces where it is all that there is.
  const words = label === undefined ? text.toLowerCase().split(/\s+/) : [text.toLowerCase()];
  return {
    matches: (subject) => words.every((word) => hasWord(subject, word)),
    kind: 'text',
    error: null,
  };
}

function hasWord({ name, labels }: Subject, word: string): boolean {
  if (word.startsWith('tag:')) return labels().some((label) => label.toLowerCase().includes(word.slice(4)));
  return fuzzy(name.toLowerCase(), word);
}

const patternError = (text: string, { error }: Pattern): string | null =>
  error === null ? null : `${text} is not a supported regular expression: ${error}`;

/** Whether the letters of `word` are in `name` in that order, each near the one before it. */
export function fuzzy(name: string, word: string): boolean {
  if (name.includes(word)) return true;
  if (word.length < 3 || /^\d+$/.test(word)) return false;
  for (let start = name.indexOf(word[0]!); start >= 0; start = name.indexOf(word[0]!, start + 1)) {
    let at = start;
    let i = 1;
    for (; i < word.length; i++) {
      const next = name.indexOf(word[i]!, at + 1);
      if (next < 0 || next - at > 12) break;
      // Numbers are looked for as numbers: run3 is run_3 and run003, not run_13.
      if (/\d/.test(word[i]!) && /[^0_/.\s-]/.test(name.slice(at + 1, next))) break;
      at = next;
    }
    if (i === word.length) return true;
  }
  return false;
}

const TOKEN = /\s*(?:(<=|>=|!=|==|!~|[<>=~()])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s<>=~!()"']+))/y;

interface Token {
  kind: 'sign' | 'text' | 'word';
  text: string;
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`"${text.slice(at, at + 12)}" is not understood`);
    if (match[1] !== undefined) found.push({ kind: 'sign', text: match[1] });
    else if (match[4] !== undefined) found.push({ kind: 'word', text: match[4] });
    else found.push({ kind: 'text', text: (match[2] ?? match[3] ?? '').replace(/\\(.)/g, '$1') });
  }
  return found;
}

function condition(text: string): Query {
  const all = tokens(text);
  const fields = new Set<string>();
  let at = 0;
  const peek = () => all[at];
  const isWord = (word: string) => peek()?.kind === 'word' && peek()!.text.toLowerCase() === word;

  function either(): Test {
    const parts = [both()];
    while (isWord('or')) {
      at++;
      parts.push(both());
    }
    return parts.length === 1 ? parts[0]! : (s) => parts.some((part) => part(s));
  }
  function both(): Test {
    const parts = [one()];
    while (peek() && !isWord('or') && peek()!.text !== ')') {
      if (isWord('and')) at++;
      parts.push(one());
    }
    return parts.length === 1 ? parts[0]! : (s) => parts.every((part) => part(s));
  }
  function one(): Test {
    if (isWord('not')) {
      at++;
      const negated = one();
      return (s) => !negated(s);
    }
    if (peek()?.kind === 'sign' && peek()!.text === '(') {
      at++;
      const inner = either();
      expect(')');
      return inner;
    }
    return comparison();
  }
  function comparison(): Test {
    const head = all[at++];
    if (!head || head.kind === 'sign')
      throw new Error(`a name is missing before "${head?.text ?? 'the end'}"`);
    let field = head.text;
    let of: 'last' | 'min' | 'max' = 'last';
    if ((field === 'min' || field === 'max' || field === 'last') && peek()?.text === '(') {
      at++;
      of = field;
      field = all[at++]?.text ?? '';
      expect(')');
    }
    const sign = peek();
    if (sign?.kind !== 'sign' || sign.text === '(' || sign.text === ')') {
      const { matches, error } = nameFilter(field);
      if (error !== null) throw new Error(error);
      return matches;
    }
    at++;
    const value = all[at++];
    if (!value || value.kind === 'sign') throw new Error(`a value is missing after ${field} ${sign.text}`);
    fields.add(field);
    if (sign.text !== '~' && sign.text !== '!~') return comparisonTest(field, of, sign.text, value);
    const pattern = patternOf(value.text, { ignoreCase: true });
    if (pattern.error) throw new Error(patternError(value.text, pattern)!);
    return (subject) => {
      const has = subject.field(field, of);
      return (has !== undefined && pattern.test(String(has))) === (sign.text === '~');
    };
  }
  function expect(sign: string): void {
    if (all[at]?.text !== sign) throw new Error(`"${sign}" is missing`);
    at++;
  }

  const matches = either();
  if (at < all.length) throw new Error(`"${all[at]!.text}" is unexpected`);
  return { matches, fields: [...fields], kind: 'condition', error: null };
}

function comparisonTest(field: string, of: 'last' | 'min' | 'max', sign: string, value: Token): Test {
  const requested = value.kind === 'word' && value.text !== '' ? Number(value.text) : Number.NaN;
  const text = value.text;
  return (s) => {
    const has = s.field(field, of);
    if (has === undefined) return false;
    const numeric = typeof has === 'number' && !Number.isNaN(requested);
    const a = numeric ? has : String(has);
    const b = numeric ? requested : text;
    if (sign === '=' || sign === '==') return a === b;
    if (sign === '!=') return a !== b;
    if (sign === '<') return a < b;
    if (sign === '>') return a > b;
    return sign === '<=' ? a <= b : a >= b;
  };
}
