/** The card of a mesh of one run: a picture that the reader turns, and a slider over its steps. */

import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Run, Tag } from '../api/types.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, nearestIndex } from '../cards/card_choice.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { CardStepBar } from '../cards/card_step_bar.tsx';
import { ToolBar, ToolChoice } from '../controls/tool_bar.tsx';
import { TypedField } from '../controls/typed_field.tsx';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { downloadCanvas } from '../picture/download.ts';
import { rgbOf } from '../picture/label_colours.ts';
import { runColour } from '../runs/colours.ts';
import { runTitle } from '../state/run_title.ts';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { themeVersion } from '../style/theme.ts';
import { count } from '../units/numbers.ts';
import { cameraOfConfig } from './config_camera.ts';
import { type Fit, fitOf, joined } from './mesh_geometry.ts';
import { MeshPicture } from './mesh_picture.tsx';
import { type LoadedMesh, useMesh, useMeshRows } from './mesh_rows.ts';
import { type MeshMode, sceneOf } from './mesh_scene.ts';
import { meshMode, setCamera } from './mesh_view.ts';

const BAR = 34;
const TOOLS = 32;

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
  const { mesh, failure: meshFailure } = useMesh(
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
          if (canvas) downloadCanvas(`${tag.name}_${runTitle(run.name)}_${step}.png`, canvas);
        },
      },
    ]);
  }, [frame, tag.name, run.name, step]);
  const name = safeText(tag.display || tag.name, 120);
  const message = failure ?? meshFailure;
  return (
    <div class="mesh-card" ref={root}>
      <MeshTools id={id} tag={tag} name={name} mesh={mesh} sample={sample} />
      {nothing ? (
        <p class="card-note">{nothing}</p>
      ) : message ? (
        <p class="card-note" role="alert">
          {safeText(message)}
        </p>
      ) : (
        <MeshPicture
          id={id}
          first={first}
          scene={scene}
          step={mesh?.header.step ?? null}
          label={`${name}, ${safeText(runTitle(run.name), 80)}${step === null ? '' : `, step ${step}`}: ${info}`}
          width={width}
          height={Math.max(80, height - TOOLS - BAR)}
        />
      )}
      {mesh && mesh.header.notes.length > 0 && <p class="card-foot">{mesh.header.notes.join(' ')}</p>}
      {step !== null && (
        <CardStepBar
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

interface MeshToolsProps {
  id: string;
  tag: Tag;
  name: string;
  mesh: LoadedMesh | null;
  sample: number;
}

function MeshTools({ id, tag, name, mesh, sample }: MeshToolsProps) {
  const samples = mesh?.header.samples ?? 1;
  return (
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
            onCommit={(text) => {
              const requested = Math.round(Number(text));
              if (!Number.isFinite(requested)) return;
              setChoice(tag.name, { sample: Math.max(0, Math.min(samples, requested) - 1) });
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
  );
}

function sizeOf({ header: { vertices, faces } }: LoadedMesh): string {
  return faces ? `${count(vertices)} vertices · ${count(faces)} faces` : `${count(vertices)} points`;
}
