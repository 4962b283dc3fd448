export default function TracePage() {
  return <p class="empty">Nothing here yet.</p>;
}
