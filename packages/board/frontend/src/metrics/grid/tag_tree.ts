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
  /** null: none; there may be as many folders as tags. */
  folders: Map<string, Folder<T>> | null;
}

/** A folder in another one; made where it is not there. */
function folderIn<T>(above: Folder<T>, name: string, path: string): Folder<T> {
  above.folders ??= new Map();
  let found = above.folders.get(name);
  if (!found) {
    found = { path, cards: [], folders: null };
    above.folders.set(name, found);
  }
  return found;
}

/** The folder at a path below the root. */
function folderAt<T>(root: Folder<T>, path: string): Folder<T> {
  if (!path.includes('/')) return folderIn(root, path, path);
  const parts = path.split('/');
  return parts.reduce((at, part, i) => folderIn(at, part, parts.slice(0, i + 1).join('/')), root);
}

/** The sections in their order on the page; folders with one folder and no card merge into it. */
export function sectionsOf<T extends Leaf>(leaves: Iterable<T>, kinds: Kind[]): Section<T>[] {
  const root: Folder<T> = { path: '', cards: [], folders: null };
  // Most leaves lie in the folder of the one before. "/a" is in a folder without a name.
  let last = root;
  let lastPath: string | null = null;
  for (const leaf of leaves) {
    const end = leaf.name.lastIndexOf('/');
    const path = end < 0 ? null : leaf.name.slice(0, end);
    if (path !== lastPath) {
      last = path === null ? root : folderAt(root, path);
      lastPath = path;
    }
    last.cards.push(leaf);
  }
  const sections: Section<T>[] = [];
  const inOrder = (a: T, b: T) =>
    (a.kind === b.kind ? 0 : kinds.indexOf(a.kind) - kinds.indexOf(b.kind)) ||
    naturally(a.name, b.name) ||
    naturally(a.id, b.id);
  const add = (folder: Folder<T>, above: string, depth: number): number => {
    if (folder.cards.length === 0 && folder.folders?.size === 1 && folder !== root) {
      const [inner] = folder.folders.values();
      return add(inner!, above, depth);
    }
    const section: Section<T> = {
      path: folder.path,
      title: above === '' ? folder.path : folder.path.slice(above.length + 1),
      depth,
      count: folder.cards.length,
      cards: folder.cards.length > 1 ? folder.cards.sort(inOrder) : folder.cards,
    };
    const isSection = folder !== root || folder.cards.length > 0;
    if (isSection) sections.push(section);
    const inner = folder.folders
      ? [...folder.folders.values()].sort((a, b) => naturally(a.path, b.path))
      : [];
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
