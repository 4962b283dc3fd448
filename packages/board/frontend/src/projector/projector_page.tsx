export default function ProjectorPage() {
  return <p class="empty">Nothing here yet.</p>;
}
