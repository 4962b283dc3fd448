/** Shows markdown of the data: its tree becomes elements of the page one by one. */
import type { ComponentChild } from 'preact';
import { createElement } from 'preact';
import { type MarkdownNode, markdownTree } from './markdown_tree.ts';

export default function Markdown({ text }: { text: string }) {
  return <div class="markdown">{markdownTree(text).map(shown)}</div>;
}

function shown(node: MarkdownNode): ComponentChild {
  if (typeof node === 'string') return node;
  return createElement(node.tag, node.attributes, ...node.children.map(shown));
}
