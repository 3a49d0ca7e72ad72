"""A package, so that no other one of this name, which some install, takes its place."""
