/**
 * Regular expressions that others wrote (an address, a log, a file of state), matched in time that grows with the
 * text's length (RE2), so that none can hold up the page. Looking around and references back are not known.
 */
import { RE2JS } from 're2js';
import { messageOf } from '../api/error_message.ts';

export interface Pattern {
  /** Why it is not a pattern; one with an error matches nothing. */
  readonly error: string | null;
  test(text: string): boolean;
  /** The match and its groups, as RegExp.exec has them; null: none. */
  exec(text: string): (string | undefined)[] | null;
}

export interface PatternOptions {
  ignoreCase?: boolean;
  /** Whether it matches from the first character on only. */
  fromStart?: boolean;
}

const MOST_PATTERN = 1000;
const MOST_REMEMBERED = 50_000;
const MOST_PATTERNS = 60;

const patterns = new Map<string, Pattern>();

/** The pattern that a text means; the same one each time, with what it found out about texts. */
export function patternOf(source: string, options: PatternOptions = {}): Pattern {
  const key = `${options.ignoreCase ? 'i' : '-'}${options.fromStart ? '^' : '-'}${source}`;
  let found = patterns.get(key);
  if (!found) {
    found = compiled(source, options);
    if (patterns.size >= MOST_PATTERNS) patterns.delete(patterns.keys().next().value!);
    patterns.set(key, found);
  }
  return found;
}

function compiled(source: string, { ignoreCase, fromStart }: PatternOptions): Pattern {
  const none = (error: string): Pattern => ({ error, test: () => false, exec: () => null });
  if (source.length > MOST_PATTERN) return none(`it has more than ${MOST_PATTERN} characters`);
  let machine: RE2JS;
  try {
    const translated = RE2JS.translateRegExp(source);
    machine = RE2JS.compile(
      fromStart ? `^(?:${translated})` : translated,
      ignoreCase ? RE2JS.CASE_INSENSITIVE : 0,
    );
  } catch (error) {
    return none(reason(error));
  }
  const known = new Map<string, boolean>();
  return {
    error: null,
    test: (text) => {
      let found = known.get(text);
      if (found === undefined) {
        found = machine.test(text);
        if (known.size >= MOST_REMEMBERED) known.clear();
        known.set(text, found);
      }
      return found;
    },
    exec: (text) => {
      const matcher = machine.matcher(text);
      if (!matcher.find()) return null;
      return Array.from({ length: matcher.groupCount() + 1 }, (_, i) => matcher.group(i) ?? undefined);
    },
  };
}

/** "error parsing regexp: missing closing ): `(`" without what everyone knows. */
function reason(error: unknown): string {
  const text = messageOf(error);
  return text.replace(/^error parsing regexp: /, '').replace('`(?i)', '`'); // the flag is ours
}
