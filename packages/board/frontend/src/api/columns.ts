/** The binary replies of the server: a JSON header, then typed columns (docs/board_api.md). */

export type Column =
  | Float64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

export interface Columns<H = Record<string, unknown>> {
  header: H;
  columns: Record<string, Column>;
}

interface Placed {
  name: string;
  dtype: string;
  offset: number;
  length: number;
}

const arrays: Record<string, (bytes: ArrayBuffer, offset: number, length: number) => Column> = {
  f64: (b, o, n) => new Float64Array(b, o, n),
  f32: (b, o, n) => new Float32Array(b, o, n),
  i64: (b, o, n) => new BigInt64Array(b, o, n),
  i32: (b, o, n) => new Int32Array(b, o, n),
  i16: (b, o, n) => new Int16Array(b, o, n),
  u32: (b, o, n) => new Uint32Array(b, o, n),
  u16: (b, o, n) => new Uint16Array(b, o, n),
  u8: (b, o, n) => new Uint8Array(b, o, n),
};

/** Views of a reply's columns; nothing is copied. Throws on bytes that are not such a reply. */
export function decodeColumns<H = Record<string, unknown>>(bytes: ArrayBuffer): Columns<H> {
  if (bytes.byteLength < 4) throw new Error(`a reply of ${bytes.byteLength} bytes has no header`);
  const size = new DataView(bytes).getUint32(0, true);
  if (4 + size > bytes.byteLength) throw new Error(`header of ${size} bytes in ${bytes.byteLength}`);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, size)));
  const columns: Record<string, Column> = {};
  for (const { name, dtype, offset, length } of header.columns as Placed[]) {
    const view = arrays[dtype];
    if (!view) throw new Error(`column ${name} has the unknown dtype ${dtype}`);
    columns[name] = view(bytes, 4 + size + offset, length);
  }
  return { header, columns };
}

/** A column as numbers, steps (i64) included; they are exact up to 2^53. */
export function numbers(column: Column): Float64Array<ArrayBuffer> {
  if (column instanceof Float64Array) return column;
  const out = new Float64Array(column.length);
  for (let i = 0; i < out.length; i++) out[i] = Number(column[i]);
  return out;
}
