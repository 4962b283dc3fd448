/** HTML as text for files that are saved: every value that is put into it is escaped. */

/** Text that is HTML already. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | readonly HtmlValue[] | null;

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
// Line breaks and tabs stay; what no document may contain, also a half of a surrogate pair, is replaced.
const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/gu;

/** Text as it stands between tags or in a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"']/g, (c) => ESCAPES[c]!);

/**
 * HTML out of a template: html`<p title="${title}">${text}</p>`. Values may stand between tags and in quoted
 * attributes, and nowhere else; lists are joined, null is nothing.
 * Raises: Error where a value stands within a tag and not in quotes.
 */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  let text = '';
  let state: 'text' | 'tag' | 'quoted' = 'text';
  strings.forEach((part, i) => {
    state = stateAfter(part, state);
    text += part;
    if (i >= values.length) return;
    if (state === 'tag') throw new Error(`a value within a tag is not in quotes: ${part}`);
    const value = values[i]!;
    if (state === 'quoted' && hasHtml(value)) throw new Error(`HTML within an attribute: ${part}`);
    text += textOf(value);
  });
  return new Html(text);
}

/** Whether a template is between tags, within one, or within its quotes. */
function stateAfter(part: string, before: 'text' | 'tag' | 'quoted'): 'text' | 'tag' | 'quoted' {
  let state = before;
  for (const c of part) {
    if (state === 'text') state = c === '<' ? 'tag' : 'text';
    else if (c === '"') state = state === 'tag' ? 'quoted' : 'tag';
    else if (state === 'tag' && c === '>') state = 'text';
  }
  return state;
}

const hasHtml = (value: HtmlValue): boolean =>
  value instanceof Html || (Array.isArray(value) && value.some(hasHtml));

function textOf(value: HtmlValue): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return value.map(textOf).join('');
}
