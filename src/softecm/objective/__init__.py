"""The objective: its equations, passes over the objects that evaluate it, and the problems that solvers see."""
