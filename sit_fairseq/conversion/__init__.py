"""Turning trained models of other kinds into models over streams."""
