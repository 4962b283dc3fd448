/** A spot of a run's colour. */
import { useLayoutEffect, useRef } from 'preact/hooks';

export function Swatch({ colour }: { colour: string }) {
  const ref = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (ref.current) ref.current.style.background = colour;
  }, [colour]);
  return <span class="swatch" ref={ref} aria-hidden="true" />;
}
