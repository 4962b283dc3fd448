"""Tools for tests of user programs: `hr.test`."""
