/** The keys of the scatter plot: they turn, move and zoom the camera and step from point to point. */
import { type Camera, panned, slantCamera, turned, zoomed } from '../../scene/orbit_camera.ts';
import { boxTool, camera, focusRow, pickedRows } from '../address/address_fields.ts';
import { table } from '../data/projector_data.ts';
import { focus } from '../points/emphasis.ts';

const PAN_PX = 40;
const TURN = 0.1;
const ZOOM = 1.2;

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export interface KeyView {
  /** The camera of the picture that is shown. */
  now: Camera;
  /** Whether the picture is two-dimensional and cannot turn. */
  flat: boolean;
  width: number;
  height: number;
  look(next: Camera): void;
}

/** Handles a key. Returns: whether it is one of the plot's keys. */
export function onScatterKey(event: KeyboardEvent, { now, flat, width, height, look }: KeyView): boolean {
  const arrow = ARROWS[event.key];
  if (arrow) {
    const [x, y] = arrow;
    if (event.shiftKey || flat) look(panned(now, -x * PAN_PX, -y * PAN_PX, width, height));
    else look(turned(now, x * TURN, -y * TURN));
    return true;
  }
  switch (event.key) {
    case '+':
    case '=':
      look(zoomed(now, ZOOM));
      return true;
    case '-':
      look(zoomed(now, 1 / ZOOM));
      return true;
    case '0':
    case 'Home':
      camera.value = slantCamera;
      return true;
    case '[':
    case ']':
      focusNeighbour(event.key === ']' ? 1 : -1);
      return true;
    case 'b':
      boxTool.value = !boxTool.value;
      return true;
    case 'Escape':
      if (focusRow.value !== null) focusRow.value = null;
      else pickedRows.value = [];
      return true;
  }
  return false;
}

/** Focuses the next or the previous point of the table. */
function focusNeighbour(by: 1 | -1): void {
  const rows = table.peek()?.row;
  if (!rows?.length) return;
  const focused = focus.peek();
  const first = by > 0 ? 0 : rows.length - 1;
  const next = focused === null ? first : (focused + by + rows.length) % rows.length;
  focusRow.value = rows[next]!;
}
