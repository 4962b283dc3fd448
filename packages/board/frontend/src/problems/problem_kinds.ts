/** The names and the order of the kinds of problems. */
import type { Problem } from '../api/types.ts';

interface Words {
  title: string;
  /** What it means, or what to do. */
  advice: string;
}

const WORDS: Record<string, Words> = {
  bad_payload: { title: 'Corrupted record', advice: 'Bytes on the disk changed after they were written.' },
  bad_length: { title: 'Corrupted frame', advice: 'Reading continued at the next intact record.' },
  bad_event: { title: 'Record without an event', advice: 'The writer wrote something else.' },
  lost_tail: { title: 'Corrupted end', advice: 'Reading continues when an intact record follows.' },
  dead: { title: 'Reading stopped', advice: 'Other files of the run are still read.' },
  torn: { title: 'Unfinished record', advice: 'Usual after a crash, or while a writer works.' },
  unreadable: { title: 'Cannot be opened', advice: 'Check the permissions of the file.' },
  unreachable: { title: 'Store does not respond', advice: 'What was read stays; the board keeps trying.' },
  no_room: { title: 'Disk full', advice: 'Files that are copied already are still read.' },
  missing_logdir: { title: 'Missing folder', advice: 'The board reads it as soon as it exists.' },
  tag_limit: { title: 'Too many tags', advice: 'Tags beyond the limit are not read.' },
  duplicate_writers: { title: 'Two writers at once', advice: 'Give each process its own folder.' },
  nan: { title: 'Not a number', advice: 'A value of the run is NaN.' },
  infinite: { title: 'Infinite', advice: 'A value of the run is infinite.' },
  clock_jump: {
    title: 'Clock went back',
    advice: 'Relative and wall times of these points are unreliable.',
  },
  skipped: { title: 'Skipped', advice: 'It lies outside the logdir, or is not a regular file.' },
  not_compiled: {
    title: 'Compiled modules missing',
    advice: 'Install the package with its compiled modules: reading is about ten times faster.',
  },
  embedding: { title: 'Embedding', advice: 'The projector cannot show it.' },
};

export function wordsOf(kind: string): Words {
  return (
    (Object.hasOwn(WORDS, kind) ? WORDS[kind] : undefined) ?? {
      title: kind.replace(/_/g, ' ').replace(/^./, (c) => c.toUpperCase()),
      advice: '',
    }
  );
}

export interface NotFinite {
  tag: number;
  kind: 'nan' | 'infinite';
  /** The first step at which it is so. */
  step: number;
}

/** The tag and the first step of a problem with NaN or infinite values; null of any other. */
export function notFinite({ kind, tag, step }: Pick<Problem, 'kind' | 'tag' | 'step'>): NotFinite | null {
  if ((kind !== 'nan' && kind !== 'infinite') || tag === null || step === null) return null;
  return { tag, kind, step };
}

const RANK = { error: 0, warning: 1, note: 2 } as const;

/** The gravest first, then what lost most, then the newest. */
export function byGravity(a: Problem, b: Problem): number {
  return RANK[a.severity] - RANK[b.severity] || b.bytes - a.bytes || b.wall - a.wall || a.id - b.id;
}
