/** Which runs are chosen: all but some, or none but some; short in the address. */
import type { Codec } from '../address/url_codec.ts';

export interface RunChoice {
  base: 'all' | 'none';
  /** Names for which the base does not hold, sorted. */
  except: string[];
}

export const everyRun: RunChoice = { base: 'all', except: [] };

/** Whether a run is chosen; call `chooser` once for many names. */
export function chooser(choice: RunChoice): (name: string) => boolean {
  const except = new Set(choice.except);
  const all = choice.base === 'all';
  return (name) => except.has(name) !== all;
}

/** The choice after some runs were switched; `every` are all names that there are. */
export function choose(choice: RunChoice, names: Iterable<string>, on: boolean, every: string[]): RunChoice {
  const chosen = chooser(choice);
  const switched = new Set(names);
  const isOn = (name: string) => (switched.has(name) ? on : chosen(name));
  const shown = every.filter(isOn);
  // A new run is shown, unless few of many were selected.
  const base = choice.base === 'none' && shown.length < every.length ? 'none' : 'all';
  const hidden = every.length - shown.length;
  const picked = base === 'all' && hidden > 24 && shown.length <= 3 ? 'none' : base;
  const except = picked === 'all' ? every.filter((n) => !isOn(n)) : shown;
  return { base: picked, except: except.sort() };
}

export function only(names: string[]): RunChoice {
  return { base: 'none', except: [...names].sort() };
}

const LEAST_SHARED = 3;
const MOST_SHARED = 35;

/**
 * `not:a,b` or `only:a,b`; a name that shares its beginning with the one before it starts with `~` and the number
 * of shared characters.
 */
export const runChoiceCodec: Codec<RunChoice> = {
  encode: ({ base, except }) => {
    if (base === 'all' && except.length === 0) return '';
    let before = '';
    const items = except.map((name) => {
      let shared = 0;
      while (shared < MOST_SHARED && shared < name.length && name[shared] === before[shared]) shared++;
      before = name;
      const item = shared >= LEAST_SHARED ? `~${shared.toString(36)}${name.slice(shared)}` : name;
      const plain = shared < LEAST_SHARED && name.startsWith('~') ? `~0${name}` : item;
      return plain.replace(/[\\,]/g, '\\$&');
    });
    return `${base === 'all' ? 'not' : 'only'}:${items.join(',')}`;
  },
  decode: (text) => {
    if (text === '') return everyRun;
    const kind = /^(not|only):(.*)$/s.exec(text);
    if (!kind) return undefined;
    const base = kind[1] === 'not' ? 'all' : 'none';
    if (kind[2] === '') return { base, except: [] };
    const items = [''];
    const body = kind[2]!;
    for (let i = 0; i < body.length; i++) {
      if (body[i] === '\\' && i + 1 < body.length) items[items.length - 1] += body[++i];
      else if (body[i] === ',') items.push('');
      else items[items.length - 1] += body[i];
    }
    let before = '';
    const except = items.map((item) => {
      if (item[0] !== '~') before = item;
      else before = before.slice(0, Number.parseInt(item[1] ?? '0', 36)) + item.slice(2);
      return before;
    });
    return { base, except };
  },
};
