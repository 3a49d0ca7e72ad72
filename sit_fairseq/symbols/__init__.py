"""Names to slots to streams and back to names: which tokens may be renamed, and renaming."""
