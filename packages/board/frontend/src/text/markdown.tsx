/**
 * Shows markdown of the data. Its tokens become elements one by one, out of a short list: no HTML text is
 * ever made or read, so there is none to clean. Images, raw HTML and links other than http(s) stay text.
 */
import MarkdownIt, { type Token } from 'markdown-it';
import type { ComponentChild } from 'preact';
import { createElement } from 'preact';
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

export default function Markdown({ text }: { text: string }) {
  return <div class="markdown">{fromTokens(parser.parse(text, {}))}</div>;
}

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
  children: ComponentChild[];
}

function fromTokens(tokens: Token[]): ComponentChild[] {
  const stack: Open[] = [{ token: null, children: [] }];
  const put = (child: ComponentChild) => stack[stack.length - 1]!.children.push(child);
  for (const token of tokens) {
    if (token.nesting === 1) stack.push({ token, children: [] });
    else if (token.nesting === -1 && stack.length > 1) {
      const { token: opened, children } = stack.pop()!;
      put(element(opened!, children));
    } else if (token.type === 'inline') for (const child of fromTokens(token.children ?? [])) put(child);
    else put(leaf(token));
  }
  while (stack.length > 1) {
    const { token, children } = stack.pop()!;
    put(element(token!, children));
  }
  return stack[0]!.children;
}

function element(token: Token, children: ComponentChild[]): ComponentChild {
  if (token.hidden || !ELEMENTS.has(token.tag)) return children;
  if (token.tag === 'a') {
    const href = safeHref(token.attrGet('href') as string | null);
    if (!href) return <span class="dead-link">{children}</span>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={safeText(href, 300)}>
        {children}
      </a>
    );
  }
  if (token.tag === 'ol') {
    const start = Number(token.attrGet('start') ?? 1);
    return <ol start={Number.isSafeInteger(start) ? start : 1}>{children}</ol>;
  }
  const align = /text-align:(left|right|center)/.exec(String(token.attrGet('style') ?? ''))?.[1];
  // A heading of the data is not a heading of the page.
  const tag = /^h\d$/.test(token.tag) ? `h${Math.min(6, Number(token.tag[1]) + 3)}` : token.tag;
  return createElement(tag, align ? { class: `align-${align}` } : null, children);
}

function leaf(token: Token): ComponentChild {
  if (token.type === 'softbreak') return '\n';
  if (token.type === 'hardbreak') return <br />;
  if (token.type === 'hr') return <hr />;
  const text = safeLines(token.content);
  if (token.type === 'code_inline') return <code>{text}</code>;
  if (token.type === 'fence' || token.type === 'code_block') {
    return (
      <pre>
        <code>{text}</code>
      </pre>
    );
  }
  return text;
}
