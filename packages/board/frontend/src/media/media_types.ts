/** What files of a media type are called. */

const ENDINGS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/bmp': 'bmp',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/flac': 'flac',
};

/** Without its dot; `bin` of what is not known. */
export function fileEnding(mime: string): string {
  return ENDINGS[mime.replace('/x-', '/').split(';')[0]!.trim()] ?? 'bin';
}
