/** The card of a tag of texts: each run's at a step, a search through all steps, or what changed. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Run } from '../api/types.ts';
import { ToolBar, ToolChoice, ToolToggle } from '../histograms/tool_bar.tsx';
import { type BlobRows, rowNear, useRows } from '../media/blob_rows.ts';
import { chosenStep, unionOfSteps } from '../media/card_choice.ts';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { PartnerBar } from '../media/partner_bar.tsx';
import { RunName } from '../media/run_name.tsx';
import { StepBar } from '../media/step_bar.tsx';
import type { CardProps } from '../metrics/cards.ts';
import { safeText } from '../shell/safe_text.ts';
import { stepCursor } from '../state/selection.ts';
import { TextBody } from './text_body.tsx';
import { TextDiff } from './text_diff.tsx';
import { searchTexts, type TextRow, textOf } from './text_rows.ts';
import { type TextMode, textDiff, textMode } from './text_view.ts';

const MOST_RUNS = 8;
const SEARCH_AFTER_MS = 250;
const MODES: [TextMode, string][] = [
  ['markdown', 'Markdown'],
  ['plain', 'Plain'],
  ['raw', 'Raw'],
];

export default function TextCard({ tag, runs, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { rows, failure } = useRows(
    tag.id,
    shown.map((run) => run.id),
  );
  const [search, setSearch] = useState('');
  const choice = choiceOf(tag.name);
  const steps = useMemo(() => unionOfSteps([...rows.values()].map((r) => r.steps)), [rows]);
  const step = chosenStep(steps, choice.step, stepCursor.value);
  const name = safeText(tag.name, 120);
  const first = shown[0] && rows.get(shown[0].id);
  const partner = shown.find((run) => run.name === choice.otherRun) ?? shown[1] ?? shown[0];
  const partnerRows = partner && rows.get(partner.id);
  const partnerStep = choice.otherStep ?? (shown.length > 1 && step !== null ? step : (steps[0] ?? 0));
  const partnerAt = partnerRows ? rowNear(partnerRows, partnerStep) : -1;
  const comparing = textDiff.value && partner && partnerRows && partnerAt >= 0;
  const partnerText = useText(
    comparing ? partner.id : null,
    tag.id,
    comparing ? partnerRows.rows[partnerAt]! : 0,
    comparing ? partnerRows.steps[partnerAt]! : 0,
  );
  const toStep = (next: number) => setChoice(tag.name, { step: next });
  return (
    <div class="text-card">
      <ToolBar label={`View of ${name}`}>
        <ToolChoice
          label="Mode"
          value={textMode.value}
          options={MODES}
          onChange={(v) => (textMode.value = v)}
        />
        <ToolToggle label="What changed" on={textDiff.value} onChange={(v) => (textDiff.value = v)}>
          diff
        </ToolToggle>
        <span class="grow" />
        <input
          type="search"
          class="tool-search"
          placeholder="Search all steps"
          aria-label={`Search the texts of ${name}`}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </ToolBar>
      {comparing && !search && (
        <PartnerBar
          runs={shown}
          run={partner}
          steps={partnerRows.steps}
          step={partnerRows.steps[partnerAt]!}
          mode="off"
          gain={1}
          wipe={0}
          onRun={(otherRun) => setChoice(tag.name, { otherRun })}
          onStep={(otherStep) => setChoice(tag.name, { otherStep })}
          onGain={() => {}}
          onWipe={() => {}}
        />
      )}
      {failure && rows.size === 0 && (
        <p class="card-note" role="alert">
          {failure}
        </p>
      )}
      <section
        class="text-scroll"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts are scrolled by keys
        tabIndex={0}
        aria-label={`Texts of ${name}`}
        style={{ height: `${Math.max(80, height - 66 - (comparing && !search ? 34 : 0))}px` }}
      >
        {search ? (
          <Hits search={search} tag={tag.id} runs={shown} onStep={toStep} />
        ) : (
          step !== null &&
          shown.map((run) => {
            const found = rows.get(run.id);
            return (
              found && (
                <RunText
                  key={run.id}
                  run={run}
                  tag={tag.id}
                  rows={found}
                  step={step}
                  titled={shown.length > 1}
                  against={comparing ? partnerText : undefined}
                />
              )
            );
          })
        )}
      </section>
      {step !== null && (
        <StepBar
          label={`Step of ${name}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={first ? (first.walls[rowNear(first, step)] ?? null) : null}
          firstWall={first?.walls[0] ?? null}
          onStep={toStep}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
    </div>
  );
}

interface RunTextProps {
  run: Run;
  tag: number;
  rows: BlobRows;
  step: number;
  titled: boolean;
  against?: TextRow | null | undefined;
}

function RunText({ run, tag, rows, step, titled, against }: RunTextProps) {
  const at = rowNear(rows, step);
  const found = useText(at < 0 ? null : run.id, tag, rows.rows[at] ?? 0, rows.steps[at] ?? 0);
  if (at < 0) return null;
  return (
    <section class="run-text">
      {(titled || rows.steps[at] !== step) && (
        <div class="run-text-title">
          <RunName run={run} /> <span class="faint">step {rows.steps[at]}</span>
        </div>
      )}
      {found === undefined ? (
        <p class="faint">…</p>
      ) : found === null || !found.readable ? (
        <p class="faint">this record cannot be read</p>
      ) : against !== undefined ? (
        <TextDiff before={against?.values.join('\n') ?? ''} after={found.values.join('\n')} />
      ) : (
        <TextBody values={found.values} shape={found.shape} mode={textMode.value} search="" />
      )}
      {found?.cut && <p class="faint">Cut here: the text is longer than the page shows.</p>}
    </section>
  );
}

/** undefined while it is not there yet; what was there before stays so long. */
function useText(run: number | null, tag: number, row: number, step: number): TextRow | null | undefined {
  const [found, set] = useState<TextRow | null | undefined>(undefined);
  useEffect(() => {
    if (run === null) return;
    let here = true;
    textOf(run, tag, row, step).then(
      (text) => here && set(text),
      () => here && set(null),
    );
    return () => {
      here = false;
    };
  }, [run, tag, row, step]);
  return found;
}

interface HitsProps {
  search: string;
  tag: number;
  runs: Run[];
  onStep: (step: number) => void;
}

function Hits({ search, tag, runs, onStep }: HitsProps) {
  const [found, set] = useState<{ run: Run; rows: TextRow[]; total: number }[] | null>(null);
  const ids = runs.map((run) => run.id).join();
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void Promise.all(
        runs.map(async (run) => ({ run, ...(await searchTexts(run.id, tag, search, stop.signal)) })),
      ).then(set, () => undefined);
    }, SEARCH_AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [search, tag, ids]);
  if (!found) return <p class="faint">Searching…</p>;
  const total = found.reduce((sum, one) => sum + one.total, 0);
  return (
    <>
      <p class="faint" role="status">
        {total === 0 ? 'Not found in any step.' : `Found in ${total} ${total === 1 ? 'step' : 'steps'}.`}
      </p>
      {found.flatMap(({ run, rows }) =>
        rows.map((row) => (
          <section class="run-text" key={`${run.id} ${row.row}`}>
            <div class="run-text-title">
              <RunName run={run} />{' '}
              <button type="button" class="link" onClick={() => onStep(row.step)}>
                step {row.step}
              </button>
            </div>
            <TextBody values={row.values} shape={row.shape} mode="plain" search={search} />
          </section>
        )),
      )}
    </>
  );
}
