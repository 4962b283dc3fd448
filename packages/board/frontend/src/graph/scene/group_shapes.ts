/** The content of each opened group of a view, and its arrangement without sizes; both are cached. */
import type { Arrangement } from '../layout/layout_group.ts';
import type { GraphModel } from '../model/graph_model.ts';
import { CLOSED, type ViewState } from '../model/view_state.ts';
import { MOST_KEPT, makeShape, type Shape } from './group_blocks.ts';
import { type GroupContent, groupContent } from './group_content.ts';

export class GroupShapes {
  private readonly model: GraphModel;
  private readonly shapes = new Map<number, Shape>();
  private readonly plain = new Map<number, Shape>();
  private readonly arrangements = new Map<string, Arrangement>();
  private contents = new Map<number, GroupContent>();
  private view: ViewState = CLOSED;

  constructor(model: GraphModel) {
    this.model = model;
  }

  /** Begins a view. Contents stay valid while only groups were opened or closed. */
  begin(view: ViewState): void {
    const was = this.view;
    const same =
      equal(was.unfolded, view.unfolded) &&
      equal(was.pulled, view.pulled) &&
      equal(was.hidden, view.hidden) &&
      equalMap(was.moved, view.moved) &&
      was.allOpen === view.allOpen;
    if (!same) this.contents = new Map();
    this.view = view;
  }

  private content(group: number): GroupContent {
    let content = this.contents.get(group);
    if (!content) {
      content = groupContent(this.model, this.view, group);
      this.contents.set(group, content);
    }
    return content;
  }

  /** The shape of a group in the view. */
  of(group: number): Shape {
    const content = this.content(group);
    const known = this.shapes.get(group);
    if (known?.content === content) return known;
    const signature = signatureOf(content);
    if (known?.signature === signature) {
      known.content = content;
      return known;
    }
    let shape: Shape;
    if (this.view.allOpen) shape = this.makeShape(content, signature, null);
    else {
      const plain = this.plainShape(group);
      shape = plain.signature === signature ? plain : this.makeShape(content, signature, this.seed(plain));
    }
    shape.content = content;
    this.shapes.set(group, shape);
    return shape;
  }

  /** The group with all series grouped and nothing moved: later views keep the order of its nodes. */
  private plainShape(group: number): Shape {
    let plain = this.plain.get(group);
    if (!plain) {
      const content = groupContent(this.model, CLOSED, group);
      plain = this.makeShape(content, signatureOf(content), null);
      this.plain.set(group, plain);
    }
    return plain;
  }

  private makeShape(
    content: GroupContent,
    signature: string,
    seedOf: ((item: number) => number) | null,
  ): Shape {
    if (this.arrangements.size > MOST_KEPT) this.arrangements.clear();
    return makeShape(content, signature, seedOf, this.arrangements);
  }

  private seed(plain: Shape): (item: number) => number {
    const { model } = this;
    return (item) => {
      const known = plain.order.get(item);
      if (known !== undefined) return known;
      const s = item < model.total ? model.series[item]! : -1;
      if (s < 0) return NaN;
      const first = plain.order.get(model.total + s);
      if (first === undefined) return NaN;
      // Members stand where the node of their series stood, in their order.
      return first + 1e-6 * model.members[s]!.indexOf(item);
    };
  }
}

function signatureOf(content: GroupContent): string {
  return [
    content.items.join(','),
    content.ports.map((p) => `${p.outgoing ? 'o' : 'i'}${p.key}`).join(','),
    content.src.join(','),
    content.dst.join(','),
  ].join('|');
}

function equal(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  if (a.size !== b.size) return false;
  for (const v of a) if (!b.has(v)) return false;
  return true;
}

function equalMap(a: ReadonlyMap<number, boolean>, b: ReadonlyMap<number, boolean>): boolean {
  if (a.size !== b.size) return false;
  for (const [k, v] of a) if (b.get(k) !== v) return false;
  return true;
}
