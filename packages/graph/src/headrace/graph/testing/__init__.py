"""What a user's tests need: `hr.test`."""
