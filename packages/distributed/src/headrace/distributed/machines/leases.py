"""Which sessions end because the process that opened them is gone, or was started again."""

from __future__ import annotations

from dataclasses import dataclass, field

_MOST_FENCED = 4096  # incarnations that are remembered as replaced


@dataclass
class Holder:
    """One start of a process that holds sessions.

    Attributes:
      name: the name that its next start has as well.
      sessions: what it holds.
      lost_at: when its link was lost; None: it is connected.
    """

    name: str
    sessions: set[int] = field(default_factory=set)
    lost_at: float | None = None


@dataclass
class Leases:
    """Sessions by holder.

    Args:
      grace_s: for how long the sessions of a holder outlive its link.
    """

    grace_s: float
    holders: dict[int, Holder] = field(default_factory=dict)  # by incarnation
    fenced: dict[int, None] = field(default_factory=dict)  # in order of time

    def is_fenced(self, incarnation: int) -> bool:
        """Says whether a later start of the same process has taken over."""
        return incarnation in self.fenced

    def add(self, session: int, name: str, incarnation: int) -> list[int]:
        """Adds a session of a holder that is connected.

        Returns: the sessions of earlier starts of that name, which end now.
        """
        ended: list[int] = []
        for other in [i for i, h in self.holders.items() if h.name == name and i != incarnation]:
            ended += sorted(self.holders.pop(other).sessions)
            self.fenced[other] = None
        while len(self.fenced) > _MOST_FENCED:
            del self.fenced[next(iter(self.fenced))]
        self.holders.setdefault(incarnation, Holder(name)).sessions.add(session)
        return ended

    def remove(self, session: int) -> None:
        """Forgets a session that was closed."""
        for incarnation, holder in list(self.holders.items()):
            holder.sessions.discard(session)
            if not holder.sessions:
                del self.holders[incarnation]

    def lost(self, incarnation: int, now: float) -> None:
        """Notes that there is no link to a holder any more."""
        holder = self.holders.get(incarnation)
        if holder is not None and holder.lost_at is None:
            holder.lost_at = now

    def back(self, incarnation: int) -> None:
        """Notes that there is a link to a holder again."""
        holder = self.holders.get(incarnation)
        if holder is not None:
            holder.lost_at = None

    def expired(self, now: float) -> list[int]:
        """Returns the sessions whose holder has been lost for the time of grace."""
        return sorted(
            session
            for holder in self.holders.values()
            if holder.lost_at is not None and now - holder.lost_at >= self.grace_s
            for session in holder.sessions
        )

    def connected(self) -> list[str]:
        """Returns the names of the holders that are connected."""
        return sorted({h.name for h in self.holders.values() if h.lost_at is None})
