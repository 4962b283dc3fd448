/** Which of a mesh's tags has a card: the vertices; faces and colours are drawn with them. */
import type { Tag } from '../api/types.ts';

/** The tag as its card shows it; null for the other parts. */
export function meshTag(tag: Tag): Tag | null {
  if (/_(FACE|COLOR)$/.test(tag.name)) return null;
  return { ...tag, display: tag.display || tag.name.replace(/_VERTEX$/, '') };
}
