import { safeText } from '../strings/safe_text.ts';

/** Treacherous characters shown, line breaks and tabs kept. */
export function safeLines(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(/[^\n\t]+/g, (part) => safeText(part, 1e6));
}
