/** Shows text that someone else wrote: characters that hide or reorder text become visible. */

// C0 and C1 controls, zero-width characters, bidirectional controls, and the byte order mark
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const TREACHEROUS = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function safeText(value: string, most = 2000): string {
  const shown = value.length > most ? `${value.slice(0, most)}…` : value;
  return shown.replace(TREACHEROUS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
