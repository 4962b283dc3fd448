/** Texts cut to the room that there is. */

const fitted = new Map<string, string>();

/** A text cut to a width in units of a 12 px font; empty where not even three letters fit. */
export function fitText(text: string, room: number, width: (text: string) => number): string {
  // In whole units, for the cache: what fits exactly must not be cut.
  room = Math.ceil(room - 1e-3);
  const key = `${room}\n${text}`;
  const known = fitted.get(key);
  if (known !== undefined) return known;
  let result = text;
  if (width(text) > room) {
    let n = Math.min(text.length - 1, Math.floor(room / 4));
    while (n > 0 && width(`${text.slice(0, n)}…`) > room) n--;
    result = n < 2 ? '' : `${text.slice(0, n)}…`;
  }
  if (fitted.size > 20_000) fitted.clear();
  fitted.set(key, result);
  return result;
}
