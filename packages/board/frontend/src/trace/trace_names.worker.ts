/** Matches a pattern against the names of a trace; the page ends this worker when that takes too long. */

let names: string[] = [];

self.addEventListener(
  'message',
  ({ data }: MessageEvent<{ names?: string[]; serial?: number; pattern?: string; most?: number }>) => {
    if (data.names) {
      names = data.names;
      return;
    }
    try {
      const pattern = new RegExp(data.pattern ?? '', 'i');
      const found: number[] = [];
      for (let i = 0; i < names.length && found.length < (data.most ?? 500); i++) {
        if (pattern.test(names[i]!)) found.push(i);
      }
      postMessage({ serial: data.serial, found });
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      postMessage({ serial: data.serial, error: said });
    }
  },
);

export {};
