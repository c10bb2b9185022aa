"""Tools of the project itself: checks and generators that make runs. Not part of the package."""
