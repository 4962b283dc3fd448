"""Monitored sessions, hooks, coordinators, moving averages: `hr.train`."""
