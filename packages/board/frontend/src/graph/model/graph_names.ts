/** Full names of ops, scopes and modules. Names do not contain the modules around them. */

export const OWN_NAME_IS_SCOPE = 1;
/** A group that stands for a module of its scope. */
export const MODULE = 4;
export const MODULE_SUFFIX = ' (module)';

/** The part of a graph that names depend on. */
export interface NamedTree {
  root: number;
  parent: Int32Array;
  flags: Uint8Array;
  labels: readonly string[];
  children(group: number): Int32Array;
  isGroup(v: number): boolean;
}

function isModule(tree: NamedTree, v: number): boolean {
  return (tree.flags[v]! & MODULE) !== 0;
}

/** The children of a group; in place of its modules, what these hold. */
function* named(tree: NamedTree, group: number): Generator<number> {
  for (const v of tree.children(group)) {
    if (isModule(tree, v)) yield* named(tree, v);
    else yield v;
  }
}

/** The nearest group around v that is part of its name. */
function scopeOf(tree: NamedTree, v: number): number {
  let at = tree.parent[v]!;
  while (at >= 0 && isModule(tree, at)) at = tree.parent[at]!;
  return at;
}

export function pathOf(tree: NamedTree, v: number): string {
  const at = tree.flags[v]! & OWN_NAME_IS_SCOPE ? scopeOf(tree, v) : v;
  const parts: string[] = [];
  for (let up = at; up !== tree.root && up >= 0; up = scopeOf(tree, up)) parts.push(tree.labels[up]!);
  return parts.reverse().join('/') + (isModule(tree, at) ? MODULE_SUFFIX : '');
}

/** The vertex of a full name, -1 if there is none. */
export function findName(tree: NamedTree, path: string): number {
  let group = tree.root;
  let rest = path;
  for (;;) {
    let next = -1;
    let used = 0;
    for (const v of named(tree, group)) {
      const label = tree.labels[v]!;
      if (rest === label) {
        if (!tree.isGroup(v)) return v;
        for (const c of named(tree, v)) if (tree.flags[c]! & OWN_NAME_IS_SCOPE) return c;
        return v;
      }
      if (tree.isGroup(v) && label.length > used && rest.startsWith(`${label}/`)) {
        next = v;
        used = label.length;
      }
    }
    if (next < 0) return findModule(tree, group, rest);
    group = next;
    rest = rest.slice(used + 1);
  }
}

function findModule(tree: NamedTree, group: number, name: string): number {
  if (!name.endsWith(MODULE_SUFFIX)) return -1;
  const label = name.slice(0, -MODULE_SUFFIX.length);
  for (const v of tree.children(group)) {
    if (!isModule(tree, v)) continue;
    if (tree.labels[v] === label) return v;
    const inner = findModule(tree, v, name);
    if (inner >= 0) return inner;
  }
  return -1;
}
