/** The card of a mesh of one run: it turns, and has a slider over its steps. */

import { signal } from '@preact/signals';
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Run, Tag } from '../api/types.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, nearestIndex } from '../cards/card_choice.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { StepBar } from '../cards/step_bar.tsx';
import { ToolBar, ToolChoice } from '../controls/tool_bar.tsx';
import { TypedField } from '../controls/typed_field.tsx';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { downloadCanvas } from '../picture/download.ts';
import { rgbOf } from '../picture/label_colours.ts';
import { runColour } from '../runs/colours.ts';
import { axesOf, type Camera, matrixOf, panned, turned, zoomed, zoomedAt } from '../scene/orbit_camera.ts';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { themeVersion } from '../style/theme.ts';
import { expose } from '../testing/test_hook.ts';
import { count } from '../units/numbers.ts';
import { canvasMeshPainter } from './canvas_mesh.ts';
import { cameraOfConfig } from './config_camera.ts';
import { type Fit, fitOf, joined } from './mesh_geometry.ts';
import { type LoadedMesh, useMesh, useMeshRows } from './mesh_rows.ts';
import { type MeshMode, type MeshPainter, type MeshScene, modeOf, sceneOf } from './mesh_scene.ts';
import { cameraOf, meshMode, setCamera } from './mesh_view.ts';
import { webglMeshPainter } from './webgl_mesh.ts';

const BAR = 34;
const TOOLS = 32;
const TURN_PER_PIXEL = 0.01;

let shared: MeshPainter | null = null;
/** Grows when all meshes are to be painted anew, since another painter is at work. */
const painterChanges = signal(0);
const painter = (): MeshPainter => {
  shared ??=
    webglMeshPainter(() => {
      shared = canvasMeshPainter;
      painterChanges.value++;
    }) ?? canvasMeshPainter;
  return shared;
};

const shownCards = new Map<string, Record<string, unknown>>();
expose('meshes', () => Object.fromEntries(shownCards));

export default function MeshCard({ card, tag, runs, width, height }: CardProps) {
  const run = runs[0];
  if (!run) return null;
  return <OneMesh key={run.id} id={card.id} tag={tag} run={run} width={width} height={height} />;
}

interface OneMeshProps {
  id: string;
  tag: Tag;
  run: Run;
  width: number;
  height: number;
}

function OneMesh({ id, tag, run, width, height }: OneMeshProps) {
  const frame = useCardFrame();
  const choice = choiceOf(tag.name);
  const { rows, failure, nothing } = useMeshRows(run.id, tag.id);
  const step = chosenStep(rows.steps, choice.step, stepCursor.value);
  const at = step === null ? -1 : nearestIndex(rows.steps, step);
  const sample = choice.sample ?? 0;
  const { mesh, failure: lost } = useMesh(
    run.id,
    tag.id,
    at < 0 ? null : rows.rows[at]!,
    rows.walls[at] ?? 0,
    sample,
  );
  const fit = useRef<Fit | null>(null);
  void themeVersion.value;
  const plain = runColour(run);
  const scene = useMemo(() => {
    if (!mesh) return null;
    fit.current = joined(fit.current, fitOf(mesh.geometry.vertices));
    return sceneOf(mesh.geometry, fit.current, rgbOf(plain));
  }, [mesh, plain]);
  const first = useMemo(() => cameraOfConfig(mesh?.header.config), [mesh]);
  const info = mesh ? sizeOf(mesh) : '';
  useEffect(() => frame.setInfo(info), [frame, info]);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    frame.setMenu([
      {
        text: 'Save the picture as PNG',
        run: () => {
          const canvas = root.current!.querySelector('canvas');
          if (canvas) downloadCanvas(`${tag.name}_${run.name}_${step}.png`, canvas);
        },
      },
    ]);
  }, [frame, tag.name, run.name, step]);
  const name = safeText(tag.display || tag.name, 120);
  const said = failure ?? lost;
  const samples = mesh?.header.samples ?? 1;
  return (
    <div class="mesh-card" ref={root}>
      <ToolBar label={`Look of ${name}`}>
        {mesh && mesh.geometry.faces.length > 0 && (
          <ToolChoice
            label="Drawn as"
            value={meshMode.value}
            options={[
              ['surface', 'Surface'],
              ['wireframe', 'Wires'],
              ['points', 'Points'],
            ]}
            onChange={(mode: MeshMode) => {
              meshMode.value = mode;
            }}
          />
        )}
        {samples > 1 && (
          <span class="step-field">
            sample
            <TypedField
              type="number"
              aria-label="Sample of the batch"
              min={1}
              max={samples}
              value={String(Math.min(sample, samples - 1) + 1)}
              onCommit={(said) => {
                const wanted = Math.round(Number(said));
                if (!Number.isFinite(wanted)) return;
                setChoice(tag.name, { sample: Math.max(0, Math.min(samples, wanted) - 1) });
              }}
            />
            <span class="faint">of {count(samples)}</span>
          </span>
        )}
        <span class="grow" />
        <button type="button" class="tool" onClick={() => setCamera(id, null)}>
          Show all
        </button>
      </ToolBar>
      {nothing ? (
        <p class="card-note">{nothing}</p>
      ) : said ? (
        <p class="card-note" role="alert">
          {safeText(said)}
        </p>
      ) : (
        <MeshPicture
          id={id}
          first={first}
          scene={scene}
          step={mesh?.header.step ?? null}
          label={`${name}, ${safeText(run.name, 80)}${step === null ? '' : `, step ${step}`}: ${info}`}
          width={width}
          height={Math.max(80, height - TOOLS - BAR)}
        />
      )}
      {mesh && mesh.header.notes.length > 0 && <p class="card-foot">{mesh.header.notes.join(' ')}</p>}
      {step !== null && (
        <StepBar
          label={`Step of ${name}`}
          steps={rows.steps}
          step={step}
          own={choice.step !== undefined}
          wall={rows.walls[at] ?? null}
          firstWall={rows.walls[0] ?? null}
          onStep={(next) => setChoice(tag.name, { step: next })}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
    </div>
  );
}

function sizeOf({ header: { vertices, faces } }: LoadedMesh): string {
  return faces ? `${count(vertices)} vertices · ${count(faces)} faces` : `${count(vertices)} points`;
}

interface MeshPictureProps {
  id: string;
  /** From where it is seen before it is turned. */
  first: Camera;
  scene: MeshScene | null;
  step: number | null;
  label: string;
  width: number;
  height: number;
}

function MeshPicture({ id, first, scene, step, label, width, height }: MeshPictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; y: number; pans: boolean } | null>(null);
  const camera = cameraOf(id) ?? first;
  void painterChanges.value;
  const mode = scene ? modeOf(meshMode.value, scene.geometry) : 'surface';

  useLayoutEffect(() => {
    const element = canvas.current!;
    const frame = requestAnimationFrame(() => {
      const ratio = devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      element.width = w;
      element.height = h;
      element.style.height = `${height}px`;
      const on = element.getContext('2d');
      if (!on || !scene || w < 1 || h < 1) return;
      painter().draw(on, scene, mode, matrixOf(camera, w, h, false), axesOf(camera), w, h, ratio);
      shownCards.set(id, {
        step,
        mode,
        painter: painter().kind,
        vertices: scene.positions.length / 3,
        faces: scene.geometry.faces.length / 3,
        camera,
      });
    });
    return () => cancelAnimationFrame(frame);
  });
  useEffect(() => () => void shownCards.delete(id), [id]);

  const look = (next: Camera) => setCamera(id, next);
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent) => {
      // The page scrolls over cards; a mesh zooms once it was clicked, or with Ctrl.
      if (document.activeElement !== element && !event.ctrlKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const factor = Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.0035);
      const [x, y] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
      setCamera(id, zoomedAt(cameraOf(id) ?? first, factor, x, y, box.width, box.height));
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [id, first]);

  function move(event: TargetedPointerEvent<HTMLCanvasElement>): void {
    const held = drag.current;
    if (!held) return;
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    held.x = event.clientX;
    held.y = event.clientY;
    if (held.pans) look(panned(camera, dx, dy, width, height));
    else look(turned(camera, -dx * TURN_PER_PIXEL, dy * TURN_PER_PIXEL));
  }

  function key(event: TargetedKeyboardEvent<HTMLCanvasElement>): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = (
      { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as Record<
        string,
        [number, number]
      >
    )[event.key];
    if (arrow) {
      if (event.shiftKey) look(panned(camera, -arrow[0] * 20, -arrow[1] * 20, width, height));
      else look(turned(camera, arrow[0] * 0.1, -arrow[1] * 0.1));
    } else if (event.key === '+' || event.key === '=') look(zoomed(camera, 1.2));
    else if (event.key === '-') look(zoomed(camera, 1 / 1.2));
    else if (event.key === '0') setCamera(id, null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: keys reach the canvas, which turns
    <canvas
      ref={canvas}
      class="mesh-canvas"
      tabIndex={0}
      role="application"
      aria-roledescription="mesh"
      aria-label={`${label}. Arrow keys turn, plus and minus zoom.`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.currentTarget.focus();
        drag.current = {
          x: event.clientX,
          y: event.clientY,
          pans: event.button !== 0 || event.shiftKey || event.altKey,
        };
      }}
      onPointerMove={move}
      onPointerUp={() => {
        drag.current = null;
      }}
      onPointerCancel={() => {
        drag.current = null;
      }}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={key}
    />
  );
}
