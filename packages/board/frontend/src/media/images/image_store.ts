/** A cache of decoded images; a prefetched neighbour paints at once. */
import { type BlobItem, fetchItem, itemsOf, type Place, placeKey } from '../blob_rows.ts';

export interface ImageRequest extends Place {
  sample: number;
}

export interface Picture {
  bitmap: ImageBitmap;
  item: BlobItem;
  /** Samples in the same event. */
  samples: number;
}

const MOST_PIXELS = 64e6; // all cached bitmaps together: 256 MB at most
const MOST_IMAGE = 64e6;
const cached = new Map<string, { picture: Promise<Picture>; pixels: number }>();
let pixels = 0;

export const keyOf = (requested: ImageRequest): string => `${placeKey(requested)} ${requested.sample}`;

/** The image of a row; a failed request is sent again at the next call. */
export function pictureOf(requested: ImageRequest): Promise<Picture> {
  const key = keyOf(requested);
  const old = cached.get(key);
  if (old) {
    cached.delete(key);
    cached.set(key, old);
    return old.picture;
  }
  const entry = { picture: load(requested), pixels: 0 };
  cached.set(key, entry);
  entry.picture.then(
    ({ bitmap }) => {
      entry.pixels = bitmap.width * bitmap.height;
      pixels += entry.pixels;
      drop();
    },
    () => cached.delete(key),
  );
  return entry.picture;
}

function drop(): void {
  for (const [key, { pixels: size }] of cached) {
    if (pixels <= MOST_PIXELS || cached.size <= 2) return;
    if (!size) continue;
    // Not closed: a card may still draw it. The collector takes it when the last one lets go.
    cached.delete(key);
    pixels -= size;
  }
}

async function load(requested: ImageRequest): Promise<Picture> {
  const items = await itemsOf(requested);
  const known = items[Math.min(requested.sample, items.length - 1)];
  if (!known) throw new Error('this event has no image');
  if (known.width * known.height > MOST_IMAGE) {
    throw new Error(`${known.width} × ${known.height} is more than 64 million pixels`);
  }
  const { item, samples, blob } = await fetchItem(requested, requested.sample);
  if (!blob.type.startsWith('image/')) throw new Error('the browser cannot show these bytes as an image');
  try {
    const options = { premultiplyAlpha: 'none', colorSpaceConversion: 'none' } as const;
    return { bitmap: await createImageBitmap(blob, options), item, samples };
  } catch {
    throw new Error(`the ${item.mime} of ${item.bytes} bytes is corrupted`);
  }
}
