"""What every part stands on: paths, errors, other programs, the ladder, building. Knows no other package."""
