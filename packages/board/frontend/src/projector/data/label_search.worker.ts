/** The worker that searches by patterns; the page ends a search that takes too long. */
import { matching } from './label_search.ts';

self.onmessage = ({ data }: MessageEvent<{ values: string[]; query: string }>) => {
  try {
    (self as unknown as Worker).postMessage({ found: matching(data.values, data.query, true) });
  } catch {
    (self as unknown as Worker).postMessage({ failure: `${data.query} is not a regular expression` });
  }
};
