/** Of a mesh's tags only the vertices have a card, which shows faces and colours too. */
import type { Tag } from '../api/types.ts';

/** The title of a mesh's card; null for tags without a card. */
export function meshTag(tag: Tag): Tag | null {
  if (/_(FACE|COLOR)$/.test(tag.name)) return null;
  return { ...tag, display: tag.display || tag.name.replace(/_VERTEX$/, '') };
}
