"""Calibration: intervals from refits, masses with these intervals, stability."""

from softecm.calibration.calibrating import Calibration, calibrate
from softecm.calibration.refitting import CalibrationInterrupted

__all__ = ["Calibration", "CalibrationInterrupted", "calibrate"]
