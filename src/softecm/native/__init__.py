"""Kernels in C: sources, compilation (``build``), validation, calls and threads (``library``).

Plain C11 without Python's headers, compiled when the package is built and called through ctypes, which releases the
GIL: nothing is compiled at run time, and forking after a fit is safe.
"""
