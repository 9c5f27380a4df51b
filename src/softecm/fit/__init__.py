"""The common path of every fit: settings, prepared data, initialization, iterations, outcome."""
