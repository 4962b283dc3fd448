/** Cards of images and texts in a report: what each run has at the card's step. */

import { messageOf } from '../../api/error_message.ts';
import type { Run } from '../../api/types.ts';
import type { CardSpec } from '../../cards/card.ts';
import { ALL_SAMPLES, chosenStep, unionOfSteps } from '../../cards/card_choice.ts';
import { fetchItem, type Place, placeNear, selectedRows } from '../../media/blob_rows.ts';
import { pictureOf } from '../../media/images/image_store.ts';
import { choiceOf } from '../../media/media_view.ts';
import { runTitle } from '../../state/run_title.ts';
import { stepCursor } from '../../state/selection.ts';
import { safeLines } from '../../text/safe_lines.ts';
import { textOf } from '../../text/text_rows.ts';
import { fileSize } from '../../units/bytes.ts';
import { count } from '../../units/numbers.ts';
import {
  type Budget,
  MOST_IMAGE_BYTES,
  MOST_RUNS_OF_IMAGES,
  MOST_RUNS_OF_TEXTS,
  MOST_SAMPLES,
  MOST_TEXT,
} from './limits.ts';
import type { ImageContent, LeftOut, ReportImage, TextContent } from './report.ts';

const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp|bmp|avif)$/;

interface RunPlace {
  run: Run;
  place: Place;
}

interface Media<Content> {
  content: Content;
  notes: string[];
  leftOut: LeftOut[];
}

/** Where each run's image or text is; those of the first runs only. */
async function placesOf(
  card: CardSpec,
  runs: Run[],
  most: number,
): Promise<{ places: RunPlace[]; notes: string[] }> {
  const shown = runs.slice(0, most);
  const { signal } = new AbortController();
  const found = await Promise.all(shown.map((run) => selectedRows(run.id, card.tag.id, signal)));
  const step = chosenStep(
    unionOfSteps(found.map((rows) => rows.steps)),
    choiceOf(card.tag.name).step,
    stepCursor.peek(),
  );
  const places = shown.flatMap((run, i) => {
    const place = step === null ? null : placeNear(run.id, card.tag.id, found[i], step);
    return place ? [{ run, place }] : [];
  });
  const notes = [
    runs.length > shown.length ? `the first ${count(shown.length)} of ${count(runs.length)} runs` : '',
    places.length === 0 ? 'nothing at the selected steps' : '',
  ].filter(Boolean);
  return { places, notes };
}

export async function reportImages(
  card: CardSpec,
  runs: Run[],
  budget: Budget,
): Promise<Media<ImageContent>> {
  const { places, notes } = await placesOf(card, runs, MOST_RUNS_OF_IMAGES);
  const chosen = choiceOf(card.tag.name).sample ?? 0;
  const images: ReportImage[] = [];
  const leftOut: LeftOut[] = [];
  for (const { run, place } of places) {
    let samples = 1;
    for (let at = 0; at < Math.min(samples, MOST_SAMPLES); at++) {
      const sample = chosen === ALL_SAMPLES ? at : chosen;
      const name = `${runTitle(run.name)}, step ${count(place.step)}${sample > 0 ? `, image ${sample + 1}` : ''}`;
      try {
        const image = await imageAt(place, sample, budget);
        if (chosen === ALL_SAMPLES) samples = image.samples;
        const number = image.samples > 1 ? `, image ${sample + 1} of ${image.samples}` : '';
        images.push({ ...image.shown, run: runTitle(run.name), place: `step ${count(place.step)}${number}` });
      } catch (error) {
        leftOut.push({ what: `${card.tag.name}, ${name}`, why: messageOf(error) });
      }
    }
    if (samples > MOST_SAMPLES) notes.push(`the first ${MOST_SAMPLES} of ${count(samples)} images`);
  }
  return { content: { kind: 'images', images }, notes: [...new Set(notes)], leftOut };
}

/** Raises: Error that says why the image is left out. */
async function imageAt(
  place: Place,
  sample: number,
  budget: Budget,
): Promise<{ shown: Pick<ReportImage, 'source' | 'width' | 'height'>; samples: number }> {
  // Decoded too: a corrupted image would be an empty frame.
  const { bitmap, samples } = await pictureOf({ ...place, sample });
  const { blob } = await fetchItem(place, sample);
  if (!IMAGE_TYPE.test(blob.type)) throw new Error(`a report has no images of the type ${blob.type}`);
  if (blob.size > MOST_IMAGE_BYTES) {
    throw new Error(`${fileSize(blob.size)} are more than the ${fileSize(MOST_IMAGE_BYTES)} of an image`);
  }
  const source = await dataUri(blob);
  const full = budget.take(source.length);
  if (full !== null) throw new Error(full);
  return { shown: { source, width: bitmap.width, height: bitmap.height }, samples };
}

function dataUri(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

export async function reportTexts(card: CardSpec, runs: Run[], budget: Budget): Promise<Media<TextContent>> {
  const { places, notes } = await placesOf(card, runs, MOST_RUNS_OF_TEXTS);
  const texts: TextContent['texts'] = [];
  const leftOut: LeftOut[] = [];
  for (const { run, place } of places) {
    const at = `step ${count(place.step)}`;
    const name = `${card.tag.name}, ${runTitle(run.name)}, ${at}`;
    try {
      const row = await textOf(place);
      if (!row?.readable) throw new Error('this record cannot be read');
      const whole = safeLines(row.values.join('\n'));
      const text = whole.slice(0, MOST_TEXT);
      const full = budget.take(text.length);
      if (full !== null) throw new Error(full);
      texts.push({ run: runTitle(run.name), place: at, text });
      if (text.length < whole.length || row.cut) {
        leftOut.push({ what: name, why: `only the first ${count(text.length)} characters are here` });
      }
    } catch (error) {
      leftOut.push({ what: name, why: messageOf(error) });
    }
  }
  return { content: { kind: 'texts', texts }, notes, leftOut };
}
