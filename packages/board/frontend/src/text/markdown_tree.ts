/**
 * Markdown of the data as a tree of elements out of a short list: no HTML text is ever read, so there is none to
 * clean. Images, raw HTML and links other than http(s) stay text.
 */
import MarkdownIt, { type Token } from 'markdown-it';
import { safeText } from '../strings/safe_text.ts';
import { safeLines } from './safe_lines.ts';

const parser = new MarkdownIt({ html: false, linkify: true, typographer: false, breaks: false });
parser.disable(['image']);
// Bounds for text that was made to be slow.
parser.options.maxNesting = 30;

const ELEMENTS = new Set([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'strong', 'em', 's'],
  ...['table', 'thead', 'tbody', 'tr', 'th', 'td', 'a'],
]);

export interface MarkdownElement {
  tag: string;
  attributes: Record<string, string>;
  children: MarkdownNode[];
}

/** An element, or text. */
export type MarkdownNode = MarkdownElement | string;

export const markdownTree = (text: string): MarkdownNode[] => fromTokens(parser.parse(text, {}));

/** A link that may be followed: http or https, and absolute. Else null. */
export function safeHref(href: string | null): string | null {
  if (!href) return null;
  try {
    const url = new URL(href);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

interface Open {
  token: Token | null;
  children: MarkdownNode[];
}

function fromTokens(tokens: Token[]): MarkdownNode[] {
  const stack: Open[] = [{ token: null, children: [] }];
  const put = (nodes: MarkdownNode[]) => {
    const { children } = stack[stack.length - 1]!;
    for (const node of nodes) children.push(node);
  };
  const close = () => {
    const { token, children } = stack.pop()!;
    put(element(token!, children));
  };
  for (const token of tokens) {
    if (token.nesting === 1) stack.push({ token, children: [] });
    else if (token.nesting === -1 && stack.length > 1) close();
    else if (token.type === 'inline') put(fromTokens(token.children ?? []));
    else put([leaf(token)]);
  }
  while (stack.length > 1) close();
  return stack[0]!.children;
}

const made = (
  tag: string,
  children: MarkdownNode[],
  attributes: Record<string, string> = {},
): MarkdownElement => ({ tag, attributes, children });

function element(token: Token, children: MarkdownNode[]): MarkdownNode[] {
  if (token.hidden || !ELEMENTS.has(token.tag)) return children;
  if (token.tag === 'a') {
    const href = safeHref(token.attrGet('href') as string | null);
    if (!href) return [made('span', children, { class: 'dead-link' })];
    const target = { target: '_blank', rel: 'noopener noreferrer nofollow' };
    return [made('a', children, { href, ...target, title: safeText(href, 300) })];
  }
  if (token.tag === 'ol') {
    const start = Number(token.attrGet('start') ?? 1);
    return [made('ol', children, { start: String(Number.isSafeInteger(start) ? start : 1) })];
  }
  const align = /text-align:(left|right|center)/.exec(String(token.attrGet('style') ?? ''))?.[1];
  // A heading of the data is not a heading of the page.
  const tag = /^h\d$/.test(token.tag) ? `h${Math.min(6, Number(token.tag[1]) + 3)}` : token.tag;
  return [made(tag, children, align ? { class: `align-${align}` } : {})];
}

function leaf(token: Token): MarkdownNode {
  if (token.type === 'softbreak') return '\n';
  if (token.type === 'hardbreak') return made('br', []);
  if (token.type === 'hr') return made('hr', []);
  const text = safeLines(token.content);
  if (token.type === 'code_inline') return made('code', [text]);
  if (token.type === 'fence' || token.type === 'code_block') return made('pre', [made('code', [text])]);
  return text;
}
