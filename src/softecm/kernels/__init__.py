"""Compiled inner loops behind torch functions, each tested against a plain reference."""
