/** Chosen rows in the address: runs of numbers as distances from the previous run. */
import type { Codec } from '../../address/url_codec.ts';

const MOST_CHARACTERS = 600;

/** `5,a-3`: row 5, then rows 16 to 19 (in base 36). Rows beyond the limit are left out. */
export const rowsCodec: Codec<number[]> = {
  encode: (rows) => {
    const sorted = [...new Set(rows)].sort((a, b) => a - b);
    const parts: string[] = [];
    let before = 0;
    for (let i = 0; i < sorted.length; ) {
      let last = i;
      while (last + 1 < sorted.length && sorted[last + 1] === sorted[last]! + 1) last++;
      const from = (sorted[i]! - before).toString(36);
      parts.push(last > i ? `${from}-${(last - i).toString(36)}` : from);
      before = sorted[last]! + 1;
      i = last + 1;
    }
    const text = parts.join(',');
    return text.length > MOST_CHARACTERS ? '' : text;
  },
  decode: (text) => {
    if (text === '') return [];
    const rows: number[] = [];
    let before = 0;
    for (const part of text.split(',')) {
      const match = /^([0-9a-z]+)(?:-([0-9a-z]+))?$/.exec(part);
      if (!match) return undefined;
      const from = before + Number.parseInt(match[1]!, 36);
      const count = match[2] ? Number.parseInt(match[2], 36) : 0;
      if (from + count > 1e6) return undefined;
      for (let row = from; row <= from + count; row++) rows.push(row);
      before = from + count + 1;
    }
    return rows;
  },
};
