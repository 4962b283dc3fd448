/**
 * What the box above the runs understands: plain text (all letters in order), a regular expression, or a
 * condition such as `acc > 0.9 and not name ~ "old" or min(loss) < 1e-3`.
 */

export type Value = number | string | boolean | undefined;

/** What a query may ask of a run; `field` may be a hyperparameter, a tag (its last value) or name, steps. */
export interface Subject {
  name: string;
  field(name: string, of: 'last' | 'min' | 'max'): Value;
}

export interface Query {
  matches(subject: Subject): boolean;
  /** The fields that it asks for, so that they can be fetched and shown. */
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

/** A filter of names alone: a regular expression if it looks like one, else letters in order. */
export function nameFilter(text: string): { matches: Test; kind: 'text' | 'regex'; error: string | null } {
  if (/[\\^$*+?()[\]{}|]/.test(text)) {
    try {
      const pattern = new RegExp(text, 'i');
      return { matches: ({ name }) => pattern.test(name), kind: 'regex', error: null };
    } catch {
      return { matches: () => true, kind: 'regex', error: `${text} is not a regular expression` };
    }
  }
  const words = text.toLowerCase().split(/\s+/);
  return {
    matches: ({ name }) => words.every((word) => fuzzy(name.toLowerCase(), word)),
    kind: 'text',
    error: null,
  };
}

/** Whether the letters of `word` come in `name` in that order, each near the one before it. */
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
      const { matches } = nameFilter(field);
      return matches;
    }
    at++;
    const value = all[at++];
    if (!value || value.kind === 'sign') throw new Error(`a value is missing after ${field} ${sign.text}`);
    fields.add(field);
    return comparisonTest(field, of, sign.text, value);
  }
  function expect(sign: string): void {
    if (all[at]?.text !== sign) throw new Error(`"${sign}" is missing`);
    at++;
  }

  const matches = either();
  if (at < all.length) throw new Error(`"${all[at]!.text}" is one too many`);
  return { matches, fields: [...fields], kind: 'condition', error: null };
}

function comparisonTest(field: string, of: 'last' | 'min' | 'max', sign: string, value: Token): Test {
  const wanted = value.kind === 'word' && value.text !== '' ? Number(value.text) : Number.NaN;
  const text = value.text;
  if (sign === '~' || sign === '!~') {
    const pattern = new RegExp(text, 'i');
    return (s) => {
      const has = s.field(field, of);
      return (has !== undefined && pattern.test(String(has))) === (sign === '~');
    };
  }
  return (s) => {
    const has = s.field(field, of);
    if (has === undefined) return false;
    const numeric = typeof has === 'number' && !Number.isNaN(wanted);
    const a = numeric ? has : String(has);
    const b = numeric ? wanted : text;
    if (sign === '=' || sign === '==') return a === b;
    if (sign === '!=') return a !== b;
    if (sign === '<') return a < b;
    if (sign === '>') return a > b;
    return sign === '<=' ? a <= b : a >= b;
  };
}
