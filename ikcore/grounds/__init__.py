"""The ground: meshes, height grids and planes for feet, their files, and synthetic terrain."""
