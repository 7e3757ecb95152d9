"""The ground: meshes, heights and planes to stand on, their files, and terrain that is made."""
