"""Solving on skeletons: a typed function for every method, one call for a whole batch of poses and goals."""
