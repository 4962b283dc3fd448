/** A panel of Markdown among the cards: its text and its menu, or its editor. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Menu, type MenuItem } from '../../controls/menu.tsx';
import { safeText } from '../../strings/safe_text.ts';
import { TextBody } from '../../text/text_body.tsx';
import { PanelEditor } from './panel_editor.tsx';
import { canEdit, draft, editPanel, movePanel, removePanel } from './panel_store.ts';
import type { NamedPanel } from './panels.ts';

interface Props {
  panel: NamedPanel;
  /** Those of its place, in their order. */
  among: NamedPanel[];
  onHeight: (height: number) => void;
}

export function PanelView({ panel, among, onHeight }: Props) {
  const element = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const measure = () => onHeight(Math.ceil(element.current?.offsetHeight ?? 0));
    const observer = new ResizeObserver(measure);
    observer.observe(element.current!);
    measure();
    return () => observer.disconnect();
  }, [onHeight]);
  const isWritten = draft.value?.id === panel.id;
  const name = safeText(titleOf(panel.text), 80);
  return (
    <section class="panel" ref={element} aria-label={isWritten ? 'Panel that is being written' : name}>
      {isWritten ? (
        <PanelEditor />
      ) : (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long texts are scrolled by keys */}
          <section class="panel-text" tabIndex={0} aria-label={`Text of the panel ${name}`}>
            <TextBody values={[panel.text]} shape={[]} mode="markdown" search="" />
          </section>
          {canEdit.value && <Menu label={`Menu of the panel ${name}`} items={menuOf(panel, among)} />}
        </>
      )}
    </section>
  );
}

/** The first words of a panel. */
const titleOf = (text: string): string =>
  (text.split('\n').find((line) => /[\p{L}\p{N}]/u.test(line)) ?? 'without words').replace(/^[#>*\-\s]+/, '');

function menuOf(panel: NamedPanel, among: NamedPanel[]): MenuItem[] {
  const { id, place } = panel;
  const alike = among.filter((one) => one.place === place && one.id !== draft.value?.id);
  return [
    { text: 'Edit', off: draft.value !== null, run: () => editPanel(panel) },
    { text: 'Move up', off: alike[0]?.id === id, run: () => movePanel(id, -1) },
    { text: 'Move down', off: alike.at(-1)?.id === id, run: () => movePanel(id, 1) },
    {
      text: 'Remove',
      run: () => {
        if (confirm('Remove this panel?')) removePanel(id);
      },
    },
  ];
}
