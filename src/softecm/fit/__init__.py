"""The one way through a fit: settings, prepared data, starts, the loop, the outcome."""
