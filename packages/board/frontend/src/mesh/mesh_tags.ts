/** Of a mesh's tags only the vertices have a card, which shows faces and colours too. */
import type { Tag } from '../api/types.ts';

/**
 * The title of a mesh's card; null for tags without a card. TensorFlow and PyTorch end tags with a word,
 * tensorboardX with a number; summaries/meshes.py has the same suffixes.
 */
export function meshTag(tag: Tag): Tag | null {
  if (/_(FACE|COLOR|2|3)$/.test(tag.name)) return null;
  return { ...tag, display: tag.display || tag.name.replace(/_(VERTEX|1)$/, '') };
}
