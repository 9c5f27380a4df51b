"""Kernels in C: sources, how they are compiled (``build``), checked, called and shared by threads (``library``).

Plain C11 without Python's headers, compiled when the package is built and called through ctypes, which releases the
interpreter lock: nothing is compiled at run time, and forking after a fit is safe.
"""
