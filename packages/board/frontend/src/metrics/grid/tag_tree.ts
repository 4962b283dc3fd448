/** Cards in the folders of their tags: `train/layer1/w` is in the folder `train/layer1`. */
import type { Kind } from '../../api/types.ts';
import { naturally } from '../../strings/natural_order.ts';

export interface Leaf {
  id: string;
  kind: Kind;
  name: string;
}

export interface Section<T extends Leaf> {
  /** The folder's whole path; "" for tags in no folder. */
  path: string;
  /** Its heading: the path below the folder whose heading is above it. */
  title: string;
  depth: number;
  /** Cards here and in all folders below. */
  count: number;
  cards: T[];
}

interface Folder<T> {
  path: string;
  cards: T[];
  folders: Map<string, Folder<T>>;
}

/** The sections in their order on the page; folders with one folder and no card merge into it. */
export function sectionsOf<T extends Leaf>(leaves: Iterable<T>, kinds: Kind[]): Section<T>[] {
  const root: Folder<T> = { path: '', cards: [], folders: new Map() };
  for (const leaf of leaves) {
    const parts = leaf.name.split('/');
    let at = root;
    for (let i = 0; i < parts.length - 1; i++) {
      const path = parts.slice(0, i + 1).join('/');
      let next = at.folders.get(parts[i]!);
      if (!next) {
        next = { path, cards: [], folders: new Map() };
        at.folders.set(parts[i]!, next);
      }
      at = next;
    }
    at.cards.push(leaf);
  }
  const sections: Section<T>[] = [];
  const add = (folder: Folder<T>, above: string, depth: number): number => {
    if (folder.cards.length === 0 && folder.folders.size === 1 && folder !== root) {
      const [inner] = folder.folders.values();
      return add(inner!, above, depth);
    }
    const section: Section<T> = {
      path: folder.path,
      title: above === '' ? folder.path : folder.path.slice(above.length + 1),
      depth,
      count: folder.cards.length,
      cards: folder.cards.sort(
        (a, b) =>
          kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || naturally(a.name, b.name) || naturally(a.id, b.id),
      ),
    };
    const isSection = folder !== root || folder.cards.length > 0;
    if (isSection) sections.push(section);
    const inner = [...folder.folders.values()].sort((a, b) => naturally(a.path, b.path));
    for (const one of inner) section.count += add(one, folder.path, folder === root ? 0 : depth + 1);
    if (folder === root) section.count = folder.cards.length;
    return section.count;
  };
  add(root, '', 0);
  return sections;
}

/** Whether a section is out of sight because a folder above it is shut. */
export function isInShut(path: string, shut: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    if (shut.has(path.slice(0, end))) return true;
  }
  return false;
}
