/** The shown graph as DOT: the same boxes, edges and direction. */
import type { ItemStyle } from '../drawing/paint.ts';
import type { GraphModel } from '../model/graph_model.ts';
import type { ViewState } from '../model/view_state.ts';
import { AUXILIARY, CONST, GROUP, OP, OPENED, type Scene, SERIES } from '../scene/scene.ts';
import { shownEdges } from '../scene/shown_edges.ts';

export interface DotJob {
  model: GraphModel;
  view: ViewState;
  scene: Scene;
  title: string;
  label(item: number): string;
  style(item: number): ItemStyle;
  /** How many members a series stands for. */
  members(item: number): number;
}

export function dotText(job: DotJob): string {
  const { model, scene } = job;
  const lines = [
    `digraph ${quoted(job.title)} {`,
    '  // Edges to and from auxiliary nodes are left out, as in the picture.',
    '  rankdir=TB; compound=true; newrank=true;',
    '  graph [fontname="Helvetica", fontsize=12, style="rounded,filled", fillcolor="#00000008", color="#a9b0bb"];',
    '  node [fontname="Helvetica", fontsize=11, style=filled];',
    '  edge [color="#8a93a0", arrowsize=0.6];',
  ];
  const children = new Map<number, number[]>();
  scene.parent.forEach((parent, i) => {
    const list = children.get(parent);
    if (list) list.push(i);
    else children.set(parent, [i]);
  });
  const write = (parent: number, indent: string) => {
    const here = children.get(parent) ?? [];
    for (const i of here) if (!(scene.flags[i]! & AUXILIARY)) writeItem(i, indent);
    const side = here.filter((i) => scene.flags[i]! & AUXILIARY);
    if (side.length === 0) return;
    lines.push(
      `${indent}subgraph cluster_side${parent + 1} {`,
      `${indent}  label="Auxiliary nodes"; style="rounded,dashed";`,
    );
    for (const i of side) writeItem(i, `${indent}  `);
    lines.push(`${indent}}`);
  };
  const writeItem = (i: number, indent: string) => {
    const item = scene.item[i]!;
    const { fill, border } = job.style(item);
    if (scene.kind[i] === OPENED) {
      lines.push(
        `${indent}subgraph cluster_${i} {`,
        `${indent}  label=${quoted(job.label(item))}; color="${border}";`,
      );
      write(i, `${indent}  `);
      lines.push(`${indent}}`);
      return;
    }
    lines.push(
      `${indent}n${i} [label=${quoted(wordsOf(job, i))}, shape=${SHAPES[scene.kind[i]!]}, ` +
        `fillcolor="${fill}", color="${border}"];`,
    );
  };
  write(-1, '  ');
  for (const { from, to, data, control } of shownEdges(model, job.view, scene)) {
    const count = data + control;
    const marks = [data === 0 ? 'style=dashed' : '', count > 1 ? `label="${count}"` : ''].filter((m) => m);
    lines.push(`  n${from} -> n${to}${marks.length > 0 ? ` [${marks.join(', ')}]` : ''};`);
  }
  lines.push('}', '');
  return lines.join('\n');
}

const SHAPES: Record<number, string> = {
  [OP]: 'ellipse',
  [CONST]: 'plaintext',
  [GROUP]: 'box',
  [SERIES]: 'box3d',
};

function wordsOf(job: DotJob, i: number): string {
  const item = job.scene.item[i]!;
  const kind = job.scene.kind[i]!;
  if (kind === SERIES) return `${job.label(item)}\n×${job.members(item)}`;
  if (kind === GROUP) return `${job.label(item)}\n${job.model.opsText(job.model.size[item]!)}`;
  return job.label(item);
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
