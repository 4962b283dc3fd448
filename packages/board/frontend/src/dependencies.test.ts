// Import cycles and sizes of functions, read from the TypeScript compiler's syntax trees.

import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  isArrowFunction,
  isClassDeclaration,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isMethodDeclaration,
  type Node,
  type SourceFile,
  type StringLiteral,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

const SOURCES = fileURLToPath(new URL('.', import.meta.url));
const LONGEST_FUNCTION = 120;
const LONGEST_CLASS = 200;

const sources = readSources();

const LEVELS: Record<string, (file: string) => string> = {
  file: (file) => file,
  folder: (file) => path.dirname(file),
  'folder directly under src': (file) => file.split('/')[0],
};

for (const [level, groupOf] of Object.entries(LEVELS)) {
  test(`no ${level} imports itself through others`, () => {
    assert.deepEqual(cyclesOf(importGraph(groupOf)), []);
  });
}

test('no function is longer than 120 lines, no class longer than 200', () => {
  const long = [...sources].flatMap(([file, source]) => longDeclarations(file, source));
  assert.deepEqual(long, []);
});

/** Returns: the syntax tree of every source file of the front end, by its path under src. */
function readSources(): Map<string, SourceFile> {
  const config = path.join(SOURCES, '../tsconfig.json');
  const compiler = new API({ cwd: path.dirname(config) });
  try {
    const project = compiler.updateSnapshot({ openProjects: [config] }).getProjects()[0];
    const files = project.rootFiles.filter((file) => file.startsWith(SOURCES));
    return new Map(files.map((file) => [path.relative(SOURCES, file), project.program.getSourceFile(file)!]));
  } finally {
    compiler.close();
  }
}

/** Returns: the groups that each group of files imports. Tests are left out: they may import anything. */
function importGraph(groupOf: (file: string) => string): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    if (file.endsWith('.test.ts')) continue;
    const from = groupOf(file);
    const targets = graph.get(from) ?? new Set();
    graph.set(from, targets);
    for (const target of importsOf(file, source)) {
      if (groupOf(target) !== from) targets.add(groupOf(target));
    }
  }
  return graph;
}

/** Returns: the source files that a file imports, also lazily and for types alone. */
function importsOf(file: string, source: SourceFile): string[] {
  const names = source.imports.map((name) => (name as StringLiteral).text);
  return names
    .filter((name) => name.startsWith('.'))
    .map((name) => path.join(path.dirname(file), name))
    .filter((name) => sources.has(name));
}

/** Returns: the imports within strongly connected components, one list a component (Tarjan 1972). */
function cyclesOf(graph: Map<string, Set<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (node: string) => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) {
        visit(next);
        low.set(node, Math.min(low.get(node)!, low.get(next)!));
      } else if (stack.includes(next)) {
        low.set(node, Math.min(low.get(node)!, index.get(next)!));
      }
    }
    if (low.get(node) !== index.get(node)) return;
    const members = stack.splice(stack.indexOf(node));
    if (members.length > 1) cycles.push(importsAmong(members, graph));
  };
  for (const node of [...graph.keys()].sort()) if (!index.has(node)) visit(node);
  return cycles;
}

function importsAmong(members: string[], graph: Map<string, Set<string>>): string[] {
  return members.flatMap((from) =>
    members.filter((to) => graph.get(from)!.has(to)).map((to) => `${from} -> ${to}`),
  );
}

/** Returns: "file: name" for every function and class of a file over the limit. */
function longDeclarations(file: string, source: SourceFile): string[] {
  const found: string[] = [];
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: Node) => {
    const limit = limitOf(node);
    const lines = lineOf(node.end) - lineOf(node.getStart(source)) + 1;
    if (lines > limit) found.push(`${file}: ${nameOf(node)}`);
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

function limitOf(node: Node): number {
  if (isClassDeclaration(node)) return LONGEST_CLASS;
  const isFunction =
    isFunctionDeclaration(node) ||
    isFunctionExpression(node) ||
    isArrowFunction(node) ||
    isMethodDeclaration(node) ||
    isConstructorDeclaration(node);
  return isFunction ? LONGEST_FUNCTION : Number.POSITIVE_INFINITY;
}

function nameOf(node: Node): string {
  const named = node as { name?: { text?: string } } & Node;
  return named.name?.text ?? (node.parent as typeof named | undefined)?.name?.text ?? '(unnamed)';
}
