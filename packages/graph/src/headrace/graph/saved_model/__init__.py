"""SavedModels: `hr.saved_model`."""
