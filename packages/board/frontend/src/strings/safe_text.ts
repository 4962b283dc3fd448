/** Shows text that someone else wrote: characters that hide or reorder text become visible. */

// C0 and C1 controls, zero-width characters, bidirectional controls, interlinear marks, tags, the byte order mark
const TREACHEROUS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

export function safeText(value: string, most = 2000): string {
  const shown = value.length > most ? `${value.slice(0, most)}…` : value;
  return shown.replace(TREACHEROUS, (c) => {
    const code = c.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
