"""Pages about clips and feet, and the drawings in them."""
