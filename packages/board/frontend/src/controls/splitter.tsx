/** A line between two panels that moves: by the pointer, or by the arrow keys. */
import type { Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';

const LEAST = 180;
const MOST = 720;
const KEY_STEP = 16;

export function Splitter({
  width,
  side,
  label,
}: {
  width: Signal<number>;
  side: 'left' | 'right';
  label: string;
}) {
  const start = useRef<{ x: number; width: number } | null>(null);
  const set = (value: number) => {
    width.value = Math.max(LEAST, Math.min(MOST, innerWidth * 0.6, value));
  };
  const end = () => {
    start.current = null;
  };
  const sign = side === 'left' ? 1 : -1;
  return (
    // biome-ignore lint/a11y/useSemanticElements: <hr> takes no keys
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={Math.round(width.value)}
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: width.value };
      }}
      onPointerMove={(event) => {
        if (start.current) set(start.current.width + sign * (event.clientX - start.current.x));
      }}
      onPointerUp={end}
      onPointerCancel={end}
      onLostPointerCapture={end}
      onDblClick={() => set(side === 'left' ? 260 : 300)}
      onKeyDown={(event) => {
        if (event.key === 'ArrowLeft') set(width.value - sign * KEY_STEP);
        else if (event.key === 'ArrowRight') set(width.value + sign * KEY_STEP);
        else if (event.key === 'Home') set(LEAST);
        else if (event.key === 'End') set(MOST);
        else return;
        event.preventDefault();
      }}
    />
  );
}
