/** Pointer gestures on the canvas. */

import { type Camera, zoomAbout } from '../drawing/camera.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { GROUP } from '../scene/scene.ts';

export interface StageEvents {
  select(item: number | null): void;
  toggle(item: number, event: { shiftKey: boolean }): void;
  hover(index: number): void;
  moved(camera: Camera): void;
  menu(item: number, x: number, y: number): void;
}

/** The part of the stage that the pointer gestures use. */
interface Pointed {
  readonly canvas: HTMLCanvasElement;
  readonly camera: Camera;
  readonly indexed: IndexedScene | null;
  hovered: number;
  jump(camera: Camera): void;
  draw(): void;
  pick(sx: number, sy: number): { index: number; sign: boolean };
}

const CLICK_PX = 4;

export class Pointers {
  private readonly stage: Pointed;
  private readonly events: StageEvents;
  private readonly active = new Map<number, [number, number]>();
  private start: [number, number] = [0, 0];
  private dragged = false;
  private readonly off: (() => void)[] = [];
  private lastClick = { item: -1, at: 0 };

  constructor(stage: Pointed, events: StageEvents) {
    this.stage = stage;
    this.events = events;
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      handler: (event: HTMLElementEventMap[K]) => void,
      options?: AddEventListenerOptions,
    ) => {
      stage.canvas.addEventListener(name, handler, options);
      this.off.push(() => stage.canvas.removeEventListener(name, handler));
    };
    on('wheel', (event) => this.wheel(event), { passive: false });
    on('pointerdown', (event) => this.down(event));
    on('pointermove', (event) => this.moved(event));
    on('pointerup', (event) => this.up(event));
    on('pointercancel', (event) => this.active.delete(event.pointerId));
    on('pointerleave', () => this.hover(-1));
    on('contextmenu', (event) => {
      const { index } = stage.pick(event.offsetX, event.offsetY);
      if (index < 0) return;
      event.preventDefault();
      events.menu(stage.indexed!.scene.item[index]!, event.offsetX, event.offsetY);
    });
  }

  stop(): void {
    for (const off of this.off) off();
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const { stage } = this;
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const factor = Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.008 : 0.0016));
    stage.jump(zoomAbout(stage.camera, event.offsetX, event.offsetY, factor));
  }

  private down(event: PointerEvent): void {
    if (event.button > 1) return;
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.active.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.start = [event.offsetX, event.offsetY];
    this.dragged = false;
  }

  private moved(event: PointerEvent): void {
    const { stage } = this;
    const was = this.active.get(event.pointerId);
    if (!was) {
      const { index, sign } = stage.pick(event.offsetX, event.offsetY);
      stage.canvas.style.cursor = sign ? 'pointer' : index >= 0 ? 'default' : 'grab';
      this.hover(index);
      return;
    }
    const [dx, dy] = [event.offsetX - was[0], event.offsetY - was[1]];
    if (!this.dragged && Math.hypot(event.offsetX - this.start[0], event.offsetY - this.start[1]) < CLICK_PX)
      return;
    this.dragged = true;
    stage.canvas.style.cursor = 'grabbing';
    const { camera } = stage;
    if (this.active.size === 2) {
      // Two fingers: their distance zooms, their midpoint pans.
      const other = [...this.active].find(([id]) => id !== event.pointerId)![1];
      const before = Math.hypot(was[0] - other[0], was[1] - other[1]);
      const now = Math.hypot(event.offsetX - other[0], event.offsetY - other[1]);
      stage.jump(
        zoomAbout(
          { x: camera.x - dx / 2 / camera.k, y: camera.y - dy / 2 / camera.k, k: camera.k },
          (event.offsetX + other[0]) / 2,
          (event.offsetY + other[1]) / 2,
          now / Math.max(1, before),
        ),
      );
    } else stage.jump({ x: camera.x - dx / camera.k, y: camera.y - dy / camera.k, k: camera.k });
    this.active.set(event.pointerId, [event.offsetX, event.offsetY]);
  }

  private up(event: PointerEvent): void {
    const known = this.active.delete(event.pointerId);
    const { stage, events } = this;
    stage.canvas.style.cursor = 'default';
    if (!known || this.dragged) return;
    const { index, sign } = stage.pick(event.offsetX, event.offsetY);
    const item = index < 0 ? -1 : stage.indexed!.scene.item[index]!;
    const now = performance.now();
    const double = item >= 0 && this.lastClick.item === item && now - this.lastClick.at < 350;
    this.lastClick = { item: double ? -1 : item, at: now };
    const kind = index < 0 ? 0 : stage.indexed!.scene.kind[index]!;
    if (item >= 0 && kind >= GROUP && (sign || double)) events.toggle(item, event);
    else events.select(item < 0 ? null : item);
  }

  private hover(index: number): void {
    if (index === this.stage.hovered) return;
    this.stage.hovered = index;
    this.stage.draw();
    this.events.hover(index);
  }
}
