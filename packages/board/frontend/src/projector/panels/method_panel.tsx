/** The choice of the projection method and its parameters. */

import type { Signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { ToolChoice } from '../../controls/tool_bar.tsx';
import { TypedField } from '../../controls/typed_field.tsx';
import { count, precisePercent } from '../../units/numbers.ts';
import {
  components,
  customWords,
  dimensions,
  learningRate,
  METHODS,
  type Method,
  method,
  perplexity,
  umapDistance,
  umapNeighbours,
} from '../address/address_fields.ts';
import { table } from '../data/projector_data.ts';
import {
  autoRate,
  boundedPerplexity,
  componentsTrouble,
  custom,
  goOn,
  layout,
  MOST_COMPONENTS,
  MOST_LAID_OUT,
  pause,
  paused,
  pca,
  progress,
  restart,
  trouble,
} from '../projection/projection.ts';

const TITLES: Record<Method, string> = { pca: 'PCA', tsne: 't-SNE', umap: 'UMAP', custom: 'Own axes' };

export function MethodPanel() {
  return (
    <section class="pj-section" aria-label="Projection">
      <ToolChoice
        label="Projection"
        value={method.value}
        options={METHODS.map((name) => [name, TITLES[name]])}
        onChange={(name) => {
          method.value = name;
        }}
      />
      {method.value !== 'custom' && (
        <div class="pj-row">
          <span>Dimensions</span>
          <ToolChoice
            label="Dimensions drawn"
            value={dimensions.value}
            options={[
              ['2', '2D'],
              ['3', '3D'],
            ]}
            onChange={(d) => {
              dimensions.value = d;
            }}
          />
        </div>
      )}
      {method.value === 'pca' && <ComponentsPanel />}
      {method.value === 'tsne' && <TsnePanel />}
      {method.value === 'umap' && <UmapPanel />}
      {method.value === 'custom' && <CustomPanel />}
    </section>
  );
}

function ComponentsPanel() {
  const found = pca.value;
  if (componentsTrouble.value !== null) {
    return (
      <p class="pj-note error" role="alert">
        {componentsTrouble.value}
      </p>
    );
  }
  if (!found) return <p class="pj-facts">Finding components …</p>;
  const drawnOnes = components.value.slice(0, dimensions.value === '2' ? 2 : 3);
  const sum = drawnOnes.reduce((total, c) => total + (found.shares[c] ?? 0), 0);
  return (
    <>
      {drawnOnes.map((component, axis) => (
        <label key={axis} class="pj-row">
          <span>{['X', 'Y', 'Z'][axis]}</span>
          <select
            value={component}
            onChange={(event) => {
              const next = [...components.value];
              next[axis] = Number(event.currentTarget.value);
              components.value = next;
            }}
          >
            {Array.from({ length: Math.min(MOST_COMPONENTS, found.coordinates.length) }, (_, c) => (
              <option key={c} value={c}>
                PC {c + 1} · {precisePercent(found.shares[c] ?? 0)}
              </option>
            ))}
          </select>
        </label>
      ))}
      <p class="pj-facts">
        {precisePercent(sum)} of the variance
        {table.value && found.sampled < table.value.count ? `, axes of ${count(found.sampled)} points` : ''}
      </p>
    </>
  );
}

function TsnePanel() {
  const n = Math.min(table.value?.count ?? 0, MOST_LAID_OUT.tsne);
  return (
    <>
      <Slider title="Perplexity" value={perplexity} least={2} most={100} step={1} />
      {n > 0 && boundedPerplexity(n) < perplexity.value && (
        <p class="pj-note">
          {boundedPerplexity(n)} is the most that {count(n)} points allow.
        </p>
      )}
      <Slider
        title="Learning rate"
        value={learningRate}
        least={0}
        most={2000}
        step={10}
        text={learningRate.value === 0 ? `auto ${autoRate(n)}` : undefined}
      />
      <Running most={MOST_LAID_OUT.tsne} />
    </>
  );
}

function UmapPanel() {
  return (
    <>
      <Slider title="Neighbours" value={umapNeighbours} least={2} most={100} step={1} />
      <Slider title="Min distance" value={umapDistance} least={0} most={1} step={0.01} />
      <Running most={MOST_LAID_OUT.umap} />
    </>
  );
}

interface SliderProps {
  title: string;
  value: Signal<number>;
  least: number;
  most: number;
  step: number;
  text?: string | undefined;
}

function Slider({ title, value, least, most, step, text }: SliderProps) {
  // While the slider is dragged only the number changes; the layout restarts at the end.
  const [held, hold] = useState<number | null>(null);
  const now = held ?? value.value;
  return (
    <label class="pj-slider">
      <span>{title}</span>
      <output>{held === null && text ? text : String(Number(now.toFixed(2)))}</output>
      <input
        type="range"
        aria-label={title}
        min={least}
        max={most}
        step={step}
        value={now}
        onInput={(event) => hold(Number(event.currentTarget.value))}
        onChange={(event) => {
          value.value = Number(event.currentTarget.value);
          hold(null);
        }}
      />
    </label>
  );
}

function Running({ most }: { most: number }) {
  const shown = table.value;
  const found = layout.value;
  const doing = progress.value;
  return (
    <>
      {shown && shown.count > most && (
        <p class="pj-note">
          {count(most)} of {count(shown.count)} points, evenly chosen, are laid out.
        </p>
      )}
      {trouble.value && (
        <p class="pj-note error" role="alert">
          {trouble.value}
        </p>
      )}
      <div class="pj-running" role="status">
        <progress
          max={1}
          value={doing ? doing.share : found?.of ? found.iteration / found.of : 0}
          aria-label="Progress of the layout"
        />
        <span>
          {doing
            ? `${doing.text} ${doing.share > 0 && doing.share < 1 ? `${Math.round(doing.share * 100)} %` : '…'}`
            : found
              ? `Step ${count(found.iteration)} of ${count(found.of)}${
                  Number.isFinite(found.cost) ? ` · divergence ${found.cost.toFixed(3)}` : ''
                }`
              : ''}
        </span>
      </div>
      <div class="pj-checks">
        {found?.done ? (
          method.value === 'tsne' && (
            <button type="button" onClick={goOn}>
              500 more steps
            </button>
          )
        ) : (
          <button type="button" aria-pressed={paused.value} onClick={() => pause(!paused.value)}>
            {paused.value ? 'Go on' : 'Pause'}
          </button>
        )}
        <button type="button" onClick={restart}>
          Restart
        </button>
      </div>
    </>
  );
}

function CustomPanel() {
  const words = [0, 1, 2, 3].map((i) => customWords.value[i] ?? '');
  const titles = ['Left', 'Right', 'Bottom', 'Top'];
  return (
    <>
      <p class="pj-facts">
        Each axis leads from the mean of the points whose labels have one text to that of another.
      </p>
      {words.map((word, i) => (
        <div key={titles[i]} class="pj-row">
          <span>{titles[i]}</span>
          <TypedField
            type="text"
            aria-label={titles[i]!}
            value={word}
            onCommit={(text) => {
              const next = [...words];
              next[i] = text;
              customWords.value = next.every((text) => text === '') ? [] : next;
            }}
          />
        </div>
      ))}
      {custom.value.message && <p class="pj-note">{custom.value.message}</p>}
    </>
  );
}
