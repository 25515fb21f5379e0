"""The tour: the main job, shown on a real git history by two agents of one run."""
