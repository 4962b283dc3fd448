/** A canvas at the resolution of the screen, drawn again whenever its `draw` changes. */
import type { TargetedPointerEvent } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface CanvasViewProps {
  width: number;
  height: number;
  /** The description for screen readers. */
  label: string;
  draw: (on: CanvasRenderingContext2D) => void;
  onMove?: (x: number, y: number) => void;
  onLeave?: () => void;
  onPress?: (x: number, y: number, event: PointerEvent) => void;
  onRelease?: (x: number, y: number, event: PointerEvent) => void;
  onKey?: (event: KeyboardEvent) => void;
  class?: string;
  describedBy?: string;
}

export function CanvasView(props: CanvasViewProps) {
  const { width, height, draw } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element || width < 1 || height < 1) return;
    let frame = requestAnimationFrame(() => {
      frame = 0;
      const ratio = devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (element.width !== w || element.height !== h) {
        element.width = w;
        element.height = h;
        element.style.width = `${width}px`;
        element.style.height = `${height}px`;
      }
      const on = element.getContext('2d');
      if (!on) return;
      on.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(on);
    });
    return () => {
      if (frame) cancelAnimationFrame(frame);
    };
  }, [draw, width, height]);

  const at = (event: TargetedPointerEvent<HTMLCanvasElement>): [number, number] => {
    const box = event.currentTarget.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  return (
    <canvas
      ref={canvas}
      class={`canvas-view ${props.class ?? ''}`}
      role="img"
      aria-label={props.label}
      aria-describedby={props.describedBy}
      tabIndex={props.onKey ? 0 : undefined}
      onPointerMove={props.onMove && ((event) => props.onMove!(...at(event)))}
      onPointerLeave={props.onLeave}
      onPointerDown={
        props.onPress &&
        ((event) => {
          if (event.button !== 0) return;
          if (props.onRelease) event.currentTarget.setPointerCapture(event.pointerId);
          props.onPress!(...at(event), event);
        })
      }
      onPointerUp={props.onRelease && ((event) => props.onRelease!(...at(event), event))}
      onKeyDown={props.onKey}
      onBlur={props.onKey && props.onLeave}
    />
  );
}
