"""A board and what a plan does on it, for people: as SVG, as an animated GIF, as text."""
