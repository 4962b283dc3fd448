/** The menu items of an image card: save the logged files, and the pictures as they are shown. */

import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Tag } from '../../api/types.ts';
import { type MenuItem, useCardFrame } from '../../cards/card_frame.tsx';
import { downloadCanvas } from '../../picture/download.ts';
import { runTitle } from '../../state/run_title.ts';
import { safeText } from '../../strings/safe_text.ts';
import { blobUrl } from '../blob_rows.ts';
import { fileEnding } from '../media_types.ts';
import type { PaneState } from './image_pane.tsx';
import type { Pane } from './use_image_panes.ts';

export function useImageMenu(
  tag: Tag,
  step: number | null,
  drawn: Pane[],
  states: ReadonlyMap<string, PaneState>,
  root: RefObject<HTMLElement | null>,
): void {
  const frame = useCardFrame();
  const files = loggedFiles(tag, drawn, states);
  useEffect(() => {
    frame.setMenu([...files, ...shownPictures(tag, step, drawn, root)]);
  }, [tag.name, step, drawn.map(({ run }) => run.name).join(), JSON.stringify(files)]);
}

function loggedFiles(tag: Tag, drawn: Pane[], states: ReadonlyMap<string, PaneState>): MenuItem[] {
  return drawn.flatMap(({ run, requested }): MenuItem[] => {
    const item = states.get(run.name)?.item;
    if (!item) return [];
    const ending = fileEnding(item.mime);
    const text =
      drawn.length > 1
        ? `Save the file of ${safeText(runTitle(run.name), 60)}`
        : 'Save the file as it was logged';
    const download = `${tag.name}_${runTitle(run.name)}_${requested.step}.${ending}`;
    return [{ text, hint: ending, href: blobUrl(item), download }];
  });
}

function shownPictures(
  tag: Tag,
  step: number | null,
  drawn: Pane[],
  root: RefObject<HTMLElement | null>,
): MenuItem[] {
  return drawn.map(({ run }, pane) => ({
    text: `Save ${drawn.length > 1 ? `the picture of ${safeText(runTitle(run.name), 60)}` : 'the picture as shown'}`,
    hint: 'png',
    run: () => {
      const canvas = root.current?.querySelectorAll<HTMLCanvasElement>('.image-pane canvas')[pane];
      if (canvas) downloadCanvas(`${tag.name}_${runTitle(run.name)}_${step}.png`, canvas);
    },
  }));
}
