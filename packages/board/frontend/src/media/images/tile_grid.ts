/** How many columns of tiles show `count` alike boxes as large as they can be. */
export function bestColumns(count: number, width: number, height: number, aspect = 1): number {
  let best = 1;
  let largest = 0;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const size = Math.min(width / columns / aspect, height / rows);
    if (size > largest * 1.001) {
      largest = size;
      best = columns;
    }
  }
  return best;
}

/** Screen pixels per image pixel that make an image fit; whole numbers where it is enlarged. */
export function fitScale(imageW: number, imageH: number, width: number, height: number): number {
  const scale = Math.min(width / imageW, height / imageH);
  if (!Number.isFinite(scale) || scale <= 0) return 1;
  return scale >= 2 ? Math.floor(scale) : scale;
}

const ZOOMS = [0.125, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/** The next zoom in or out from a scale. */
export function nextZoom(scale: number, inwards: boolean): number {
  if (inwards) return ZOOMS.find((z) => z > scale * 1.01) ?? ZOOMS[ZOOMS.length - 1]!;
  return ZOOMS.findLast((z) => z < scale / 1.01) ?? ZOOMS[0]!;
}

/** What a menu of zooms offers: fit, the steps, and the present one. */
export function zoomChoices(present: number): number[] {
  return [...new Set([0, ...ZOOMS, present])].sort((a, b) => a - b);
}
