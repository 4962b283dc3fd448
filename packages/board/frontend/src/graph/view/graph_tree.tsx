/** The graph as a tree for those who do not see the canvas, and for tests: the same items, the same state. */

import { count } from '../../units/numbers.ts';
import { verticesOf } from '../model/view_state.ts';
import { AUXILIARY, GROUP, OPENED, SERIES } from '../scene/scene.ts';
import type { Session } from '../session/session.ts';

const MOST = 700;

export function itemId(item: number): string {
  return `graph-item-${item}`;
}

export function GraphTree({ session }: { session: Session }) {
  const scene = session.scene.value?.scene;
  const selected = session.selected.value;
  if (!scene) return null;
  const children = new Map<number, number[]>();
  const most = Math.min(scene.item.length, MOST);
  for (let i = 0; i < most; i++) {
    const p = scene.parent[i]!;
    const list = children.get(p);
    if (list) list.push(i);
    else children.set(p, [i]);
  }
  const branch = (parent: number, level: number): preact.JSX.Element[] =>
    (children.get(parent) ?? []).map((i) => {
      const item = scene.item[i]!;
      const kind = scene.kind[i]!;
      const auxiliary = (scene.flags[i]! & AUXILIARY) !== 0;
      const what =
        kind === SERIES
          ? `, series of ${verticesOf(session.model, session.scene.value!.pulled, item).length}`
          : kind >= GROUP
            ? `, ${session.model.opsText(session.model.size[item]!)}`
            : `, ${session.model.opName(item)}`;
      return (
        <div
          key={item}
          id={itemId(item)}
          role="treeitem"
          tabIndex={-1}
          aria-level={level}
          aria-selected={item === selected}
          {...(kind >= GROUP ? { 'aria-expanded': kind === OPENED } : {})}
          data-area={auxiliary ? 'auxiliary' : 'main'}
          aria-label={`${session.label(item)}${what}${auxiliary ? ', auxiliary' : ''}`}
        >
          {kind === OPENED && (
            // biome-ignore lint/a11y/useSemanticElements: a group of tree items has no element of its own
            <div role="group">{branch(i, level + 1)}</div>
          )}
        </div>
      );
    });
  return (
    <>
      {branch(-1, 1)}
      {scene.item.length > most && (
        <div role="treeitem" tabIndex={-1} aria-level={1} aria-selected={false}>
          and {count(scene.item.length - most)} more; close groups, or search, to come to them
        </div>
      )}
    </>
  );
}
