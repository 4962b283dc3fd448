/** One image, or the comparison of two, at any zoom. What was shown stays until the next one is decoded. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { type BlobItem, blobUrl } from '../blob_rows.ts';
import type { Compare } from '../media_view.ts';
import { type Adjustment, applyLevels, type Difference, isNeutral, levels, subtract } from './adjust.ts';
import { type ImageRequest, keyOf, type Picture, pictureOf } from './image_store.ts';
import { fitScale } from './tile_grid.ts';

export interface PaneState {
  key: string;
  width: number;
  height: number;
  samples: number;
  difference: Difference | null;
  failure: string | null;
  /** The file that was painted. */
  item: BlobItem | null;
}

export interface PaneProps {
  requested: ImageRequest;
  other: ImageRequest | null;
  mode: Compare;
  /** Share of the width that shows the first of two, in a wipe. */
  wipe: number;
  gain: number;
  adjustment: Adjustment;
  /** 0: fit. */
  zoom: number;
  width: number;
  height: number;
  label: string;
  onState: (state: PaneState) => void;
  onWipe: (share: number) => void;
  onPixel: (text: string | null) => void;
}

export function ImagePane(props: PaneProps) {
  const { requested, other, mode, wipe, gain, adjustment, zoom, width, height } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pictures, set] = useState<{ key: string; a: Picture; b: Picture | null } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const key = keyOf(requested) + (other && mode !== 'off' ? ` / ${keyOf(other)}` : '');

  useEffect(() => {
    let here = true;
    void Promise.all([pictureOf(requested), other && mode !== 'off' ? pictureOf(other) : null]).then(
      ([a, b]) => {
        if (!here) return;
        setFailure(null);
        set({ key, a, b });
      },
      (error) => {
        if (!here) return;
        const message = messageOf(error);
        setFailure(message);
        set(null);
        props.onState({
          key,
          width: 0,
          height: 0,
          samples: 0,
          difference: null,
          failure: message,
          item: null,
        });
      },
    );
    return () => {
      here = false;
    };
  }, [key]);

  const picture = pictures?.a;
  const scale = picture ? zoom || fitScale(picture.bitmap.width, picture.bitmap.height, width, height) : 1;

  useEffect(() => {
    if (!canvas.current || !pictures) return;
    const difference = paint(canvas.current, pictures.a, pictures.b, { mode, wipe, gain, adjustment });
    props.onState({
      key: pictures.key,
      width: pictures.a.bitmap.width,
      height: pictures.a.bitmap.height,
      samples: pictures.a.samples,
      difference,
      failure: null,
      item: pictures.a.item,
    });
  }, [pictures, mode, wipe, gain, adjustment.brightness, adjustment.contrast]);

  // A canvas draws the first frame only; the browser plays the file itself, where nothing changes its pixels.
  const plays =
    picture?.item.mime === 'image/gif' && mode === 'off' && isNeutral(adjustment) && !reducedMotion();
  const pan = useRef<{ x: number; y: number; left: number; top: number } | null>(null);
  return (
    <div class={`image-pane ${zoom ? 'zoomed' : ''}`} style={{ width: `${width}px`, height: `${height}px` }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        class={`${scale >= 1 ? 'pixelated' : ''}${plays ? ' behind' : ''}`}
        style={{
          display: pictures ? 'block' : 'none',
          width: `${(picture?.bitmap.width ?? 0) * scale}px`,
          height: `${(picture?.bitmap.height ?? 0) * scale}px`,
        }}
        onPointerDown={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          event.currentTarget.setPointerCapture(event.pointerId);
          if (mode === 'wipe') props.onWipe((event.clientX - box.left) / box.width);
          const frame = event.currentTarget.parentElement!;
          pan.current = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
        }}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const x = Math.floor((event.clientX - box.left) / scale);
          const y = Math.floor((event.clientY - box.top) / scale);
          if (pictures) props.onPixel(readPixel(pictures.a, pictures.b, x, y));
          const from = pan.current;
          if (!from) return;
          if (mode === 'wipe') props.onWipe(Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)));
          else {
            const frame = event.currentTarget.parentElement!;
            frame.scrollLeft = from.left - (event.clientX - from.x);
            frame.scrollTop = from.top - (event.clientY - from.y);
          }
        }}
        onPointerUp={() => {
          pan.current = null;
        }}
        onPointerCancel={() => {
          pan.current = null;
        }}
        onPointerLeave={() => props.onPixel(null)}
      />
      {plays && (
        <img
          class={`image-played${scale >= 1 ? ' pixelated' : ''}`}
          src={blobUrl(picture.item)}
          alt=""
          style={{
            width: `${picture.bitmap.width * scale}px`,
            height: `${picture.bitmap.height * scale}px`,
          }}
        />
      )}
      {failure && (
        <p class="pane-failure" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}

const reducedMotion = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

interface Look {
  mode: Compare;
  wipe: number;
  gain: number;
  adjustment: Adjustment;
}

/** Draws at the image's own size; the style sheet does the rest. */
function paint(canvas: HTMLCanvasElement, a: Picture, b: Picture | null, look: Look): Difference | null {
  const { width, height } = a.bitmap;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const on = canvas.getContext('2d', { willReadFrequently: true })!;
  on.clearRect(0, 0, width, height);
  let difference: Difference | null = null;
  if (b && look.mode === 'difference') {
    on.drawImage(b.bitmap, 0, 0, width, height);
    const second = on.getImageData(0, 0, width, height);
    on.clearRect(0, 0, width, height);
    on.drawImage(a.bitmap, 0, 0);
    const first = on.getImageData(0, 0, width, height);
    difference = subtract(first.data, second.data, look.gain);
    on.putImageData(first, 0, 0);
  } else {
    on.drawImage(a.bitmap, 0, 0);
    if (b && look.mode === 'wipe') {
      const from = Math.round(width * look.wipe);
      on.clearRect(from, 0, width - from, height);
      on.save();
      on.beginPath();
      on.rect(from, 0, width - from, height);
      on.clip();
      on.drawImage(b.bitmap, 0, 0, width, height);
      on.restore();
    }
  }
  if (!isNeutral(look.adjustment)) {
    const all = on.getImageData(0, 0, width, height);
    applyLevels(all.data, levels(look.adjustment));
    on.putImageData(all, 0, 0);
  }
  return difference;
}

let probe: CanvasRenderingContext2D | null = null;

function readPixel(a: Picture, b: Picture | null, x: number, y: number): string | null {
  if (x < 0 || y < 0 || x >= a.bitmap.width || y >= a.bitmap.height) return null;
  probe ??= Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', {
    willReadFrequently: true,
  });
  const read = ({ bitmap }: Picture) => {
    const sx = Math.floor((x * bitmap.width) / a.bitmap.width);
    const sy = Math.floor((y * bitmap.height) / a.bitmap.height);
    probe!.clearRect(0, 0, 1, 1);
    probe!.drawImage(bitmap, sx, sy, 1, 1, 0, 0, 1, 1);
    const [r, g, blue, alpha] = probe!.getImageData(0, 0, 1, 1).data;
    const colours = r === g && g === blue ? `grey ${r}` : `${r} ${g} ${blue}`;
    return alpha === 255 ? colours : `${colours}, alpha ${alpha}`;
  };
  return `(${x}, ${y}): ${read(a)}${b ? ` against ${read(b)}` : ''}`;
}
