"""How sure: intervals from refits, masses that state them, stability."""

from softecm.calibration.calibrating import Calibration, calibrate
from softecm.calibration.refitting import CalibrationInterrupted

__all__ = ["Calibration", "CalibrationInterrupted", "calibrate"]
