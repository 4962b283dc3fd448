/** Markdown as HTML for files, out of the same tree as on the page. */
import { escapeHtml, Html } from '../strings/html_text.ts';
import { type MarkdownNode, markdownTree } from './markdown_tree.ts';

const WITHOUT_END = new Set(['br', 'hr']);

export const markdownHtml = (text: string): Html => new Html(markdownTree(text).map(written).join(''));

/** Tags and names of attributes are those of `markdownTree`; everything else is escaped. */
function written(node: MarkdownNode): string {
  if (typeof node === 'string') return escapeHtml(node);
  const { tag, attributes, children } = node;
  const given = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeHtml(value)}"`);
  const start = `<${tag}${given.join('')}>`;
  return WITHOUT_END.has(tag) ? start : `${start}${children.map(written).join('')}</${tag}>`;
}
