/** The view in the address: `#/page?key=value&...`, short, readable, and the same after a reload. */

export interface Codec<T> {
  encode(value: T): string;
  /** undefined: the text is not a value; the default applies. */
  decode(text: string): T | undefined;
}

export const text: Codec<string> = { encode: (v) => v, decode: (t) => t };

export const flag: Codec<boolean> = {
  encode: (v) => (v ? '1' : '0'),
  decode: (t) => (t === '1' ? true : t === '0' ? false : undefined),
};

export const number: Codec<number> = {
  encode: (v) => String(v),
  decode: (t) => (t.trim() !== '' && Number.isFinite(Number(t)) ? Number(t) : undefined),
};

export const optionalNumber: Codec<number | null> = {
  encode: (v) => (v === null ? '' : String(v)),
  decode: (t) => (t === '' ? null : number.decode(t)),
};

export function choice<T extends string>(...allowed: T[]): Codec<T> {
  return { encode: (v) => v, decode: (t) => (allowed.includes(t as T) ? (t as T) : undefined) };
}

/** Texts that may hold any character: joined by ","; "," and "\\" are escaped, and an empty text is "\\e". */
export const list: Codec<string[]> = {
  encode: (v) => v.map((item) => item.replace(/[\\,]/g, '\\$&') || '\\e').join(','),
  decode: (t) => {
    if (t === '') return [];
    const items = [''];
    for (let i = 0; i < t.length; i++) {
      if (t[i] === '\\' && i + 1 < t.length) items[items.length - 1] += t[++i] === 'e' ? '' : t[i];
      else if (t[i] === ',') items.push('');
      else items[items.length - 1] += t[i];
    }
    return items;
  },
};

export interface Address {
  page: string;
  parameters: Map<string, string>;
}

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { page: path, parameters: new Map(new URLSearchParams(query)) };
}

export function formatAddress({ page, parameters }: Address): string {
  const query = new URLSearchParams([...parameters])
    .toString()
    .replace(/%(2C|2F|3A|7E)/g, decodeURIComponent);
  return `#/${page}${query && `?${query}`}`;
}
