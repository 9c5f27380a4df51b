"""Compiled inner loops behind torch functions, each with a plain reference it is tested against."""
