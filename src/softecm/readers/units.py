"""Units of numbers: synonyms, conversions with fixed factors, and remarks about others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from softecm._text import spelling_key
from softecm._wording import option
from softecm.readers.base import ReadError, existing, short

if TYPE_CHECKING:
    import pandas as pd

#: Units of one quantity, each with its size. Sizes differ between molar and mass concentrations, and vary over time
#: between currencies: these are separate quantities.
SCALES: tuple[Mapping[str, float], ...] = (
    {"ng": 1e-9, "µg": 1e-6, "mcg": 1e-6, "mg": 1e-3, "g": 1, "kg": 1e3, "t": 1e6, "oz": 28.349523125}
    | dict.fromkeys(("lb", "lbs"), 453.59237),
    {"nm": 1e-9, "µm": 1e-6, "mm": 1e-3, "cm": 0.01, "dm": 0.1, "m": 1, "km": 1e3, "yd": 0.9144}
    | dict.fromkeys(("in", "inch", "inches"), 0.0254)
    | dict.fromkeys(("ft", "feet"), 0.3048)
    | dict.fromkeys(("mi", "mile", "miles"), 1609.344),
    {"mm²": 1e-6, "cm²": 1e-4, "m²": 1, "km²": 1e6, "ha": 1e4, "sqm": 1, "qm": 1, "sqft": 0.09290304},
    {"µL": 1e-6, "mL": 1e-3, "cL": 0.01, "dL": 0.1, "L": 1, "hL": 100, "m³": 1e3},
    {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}
    | dict.fromkeys(("s", "sec", "secs", "second", "seconds", "Sek", "Sekunde", "Sekunden"), 1)
    | dict.fromkeys(("min", "mins", "minute", "minutes", "Minuten"), 60)
    | dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "Std", "Stunde", "Stunden"), 3600)
    | dict.fromkeys(("d", "day", "days", "Tag", "Tage", "Tagen"), 86400)
    | dict.fromkeys(("wk", "wks", "week", "weeks", "Wo.", "Woche", "Wochen"), 604800),
    dict.fromkeys(("month", "months"), 1) | dict.fromkeys(("year", "years", "yr", "yrs"), 12),
    {"J": 1, "kJ": 1e3, "MJ": 1e6, "cal": 4.184, "kcal": 4184, "Wh": 3600, "kWh": 3.6e6, "MWh": 3.6e9},
    {"mW": 1e-3, "W": 1, "kW": 1e3, "MW": 1e6},
    {"mV": 1e-3, "V": 1, "kV": 1e3},
    {
        "Pa": 1,
        "hPa": 100,
        "mbar": 100,
        "kPa": 1e3,
        "MPa": 1e6,
        "bar": 1e5,
        "mmHg": 133.322387415,
        "psi": 6894.757293168,
    },
    {"mm/s": 1e-3, "cm/s": 0.01, "m/s": 1, "km/h": 1 / 3.6, "mph": 0.44704, "in/s": 0.0254},
    {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    {"ng/L": 1e-9, "µg/L": 1e-6, "ng/mL": 1e-6, "mg/L": 1e-3, "µg/mL": 1e-3, "mg/dL": 1e-2, "g/L": 1, "g/dL": 10},
    {"pmol/L": 1e-12, "nmol/L": 1e-9, "µmol/L": 1e-6, "mmol/L": 1e-3, "mol/L": 1},
    {"‰": 1, "%": 10},
    {"$": 1, "US$": 1, "USD": 1, "k$": 1e3},
    {"€": 1, "EUR": 1, "k€": 1e3, "T€": 1e3, "TEUR": 1e3},
    {"£": 1, "GBP": 1, "k£": 1e3, "p": 0.01, "pence": 0.01, "penny": 0.01},
    *({"₹": 1, "INR": 1, "Rs": 1, "Rs.": 1}, {"kr": 1, "kr.": 1}, {"zł": 1, "PLN": 1}, {"Kč": 1, "CZK": 1}),
    {"°C": 1, "°F": 5 / 9},
)
PERCENT = {"%": 100, "‰": 1000}
FREEZING = {"°F": -160 / 9}  # origin of a scale, in the first unit of its quantity
SQUARES = {"mm2": "mm²", "cm2": "cm²", "m2": "m²", "km2": "km²", "m3": "m³"}
CENTS = ("c", "ct", "cent", "cents")  # of the currency that they are compared with
DETACHED = {"t", "d", "p"}  # written without a space, 3d and 2t have other meanings


class Unit(NamedTuple):
    """A unit's relation to the others of its quantity."""

    quantity: int
    size: float
    zero: float = 0.0


UNITS = {name: Unit(k, size, FREEZING.get(name, 0.0)) for k, scale in enumerate(SCALES) for name, size in scale.items()}
_PLAIN = {name: {other for other in UNITS if other.casefold() == name.casefold()} for name in UNITS}
#: Units in lower case, if case doesn't distinguish them from others: kg for KG, but not mW for MW.
FOLDED = {name.casefold(): name for name, alike in _PLAIN.items() if len(alike) == 1 and (len(name) > 1 or name == "L")}
_LETTERS = sorted(name for name in {*UNITS, *SQUARES} - DETACHED if name[0].isalpha())
#: Units allowed directly after a number; single letters are case-sensitive.
ATTACHED = (
    rf"(?i:{'|'.join(re.escape(name) for name in sorted(_LETTERS, key=len)[::-1] if len(name) > 1)})|"
    rf"[{''.join(name for name in _LETTERS if len(name) == 1)}]"
)


def known_unit(unit: str) -> Unit | None:
    """Return a known unit in any spelling, or None."""
    name = unit.replace("μ", "µ")  # two characters that look alike
    name = SQUARES.get(name, name)
    return UNITS.get(name) or UNITS.get(FOLDED.get(name.casefold(), ""))


@dataclass(frozen=True)
class Conversion:
    """Conversion between units: ``factor * number + shift``."""

    factor: float
    shift: float = 0.0

    def __call__(self, number: float) -> float:
        """Return a number in the other unit, without rounding errors in the last digits."""
        return number if self == SAME else float(f"{number * self.factor + self.shift:.12g}")

    def example(self, unit: str, to: str) -> str:
        """Return what 1 is in the other unit, to check it."""
        return f" (1 {unit} is {self.factor:.4g} {to})" if not self.shift else ""


SAME = Conversion(1.0)


def _cents(unit: str, other: Unit | None) -> Unit | None:
    """Return cents as a unit of another unit's currency."""
    has_cents = other is not None and other.quantity in (UNITS["$"].quantity, UNITS["€"].quantity)
    return Unit(other.quantity, 0.01) if other and has_cents and unit.casefold() in CENTS else None


def conversion(unit: str, to: str) -> Conversion | None:
    """Return the conversion; None without a fixed factor.

    Examples
    --------
    >>> conversion("lb", "kg")(100), conversion("°F", "°C")(212), conversion("EUR", "€"), conversion("mg/dL", "mmol/L")
    (45.359237, 100.0, Conversion(factor=1.0, shift=0.0), None)
    """
    if unit == to or (len(unit) > 2 and unit.casefold().rstrip("s.") == to.casefold().rstrip("s.")):
        return SAME
    one, other = known_unit(unit), known_unit(to)
    one, other = one or _cents(unit, other), other or _cents(to, one)
    if one is None or other is None or one.quantity != other.quantity:
        return None
    return Conversion(one.size / other.size, (one.zero - other.zero) / other.size)


@dataclass(frozen=True)
class UnitChoice:
    """The unit of a column from ``--unit``, and how many of other units are one of it."""

    unit: str
    others: tuple[tuple[str, float], ...] = ()

    def conversion(self, unit: str) -> Conversion | None:
        """Return the conversion to the unit."""
        own = next((1.0 / count for name, count in self.others if name == unit), None)
        return conversion(unit, self.unit) if own is None else Conversion(own)


def unit_choices(path: Path, columns: Sequence[str], entries: Sequence[str]) -> dict[str, UnitChoice]:
    """Return the choices by column, from entries such as ``weight=kg`` or ``glucose=mmol/L=18 mg/dL``."""
    choices = {}
    for entry in entries:
        name = max((name for name in columns if entry.startswith(f"{name}=")), key=len, default=entry.partition("=")[0])
        unit, *equal = (part.strip() for part in entry.removeprefix(name).removeprefix("=").split("="))
        others = [re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(\D.*)", part) for part in equal]
        if not unit or not all(match and float(match[1]) > 0 for match in others):
            raise ReadError(
                f"{option('unit')} must be column=unit, such as weight=kg, or with what one is in another unit, such as "
                f"glucose=mmol/L=18 mg/dL; got {entry}."
            )
        choices[existing(path, columns, name)] = UnitChoice(unit, tuple((m[2], float(m[1])) for m in others if m))
    return choices


def unit_in_name(name: str) -> str:
    """Return the known unit at the end of a column's name.

    Examples
    --------
    >>> unit_in_name("weight (kg)"), unit_in_name("speed [km/h]"), unit_in_name("weight (net)")
    ('kg', 'km/h', '')
    """
    match = re.search(r"[(\[]([^()\[\]]+)[)\]]\s*$", name)
    return match[1] if match and (known_unit(match[1]) or match[1].casefold() in CENTS) else ""


def as_in_fit(name: str, choice: UnitChoice, columns: Sequence[str]) -> tuple[str, Conversion] | None:
    """Return the column that is one of the fit's in another unit, by its name, and the conversion; None if none is.

    Examples
    --------
    >>> as_in_fit("spend", UnitChoice("£"), ["visits", "spend (pence)"])
    ('spend (pence)', Conversion(factor=0.01, shift=0.0))
    """
    for column in columns:
        way = choice.conversion(unit_in_name(column))
        if way is not None and _without_unit(column) == _without_unit(name):
            return column, way
    return None


def _without_unit(name: str) -> str:
    unit = unit_in_name(name)
    return spelling_key(name.rstrip()[: -len(unit) - 2] if unit else name)


def unit_remark(name: str, unit: str, before: str, values: pd.Series) -> str:
    """Return what to check if a column's unit differs from the fit's; "" if it is the same or just not written.

    Examples
    --------
    >>> unit_remark("spend", "$", "£", None)
    'column spend is in $ here and was in £ in the fit: convert it to £ first, because the numbers are used as they are.'
    >>> unit_remark("spend", "EUR", "€", None), unit_remark("spend", "", "€", None)
    ('', '')
    >>> unit_remark("spend (USD)", "$", "", None), unit_remark("spend (USD)", "€", "", None)[:58]
    ('', 'column spend (USD) is in € here and was in USD in the fit:')
    """
    before = before or unit_in_name(name)
    if before in PERCENT and not unit and values.abs().max() <= 1:
        factor = PERCENT[before]
        return (
            f"column {short(name)} was in {before} in the fit and has no number above 1 here: if {12 / factor:g} means "
            f"12 {before}, multiply it by {factor} first, because the numbers are used as they are."
        )
    if unit in PERCENT and not before:
        return (
            f"column {short(name)} is in {unit} here and had no unit in the fit: if 12 {unit} was {12 / PERCENT[unit]:g} "
            f"there, divide it by {PERCENT[unit]} first, because the numbers are used as they are."
        )
    if not unit or not before or conversion(unit, before) is not None:
        return ""
    return (
        f"column {short(name)} is in {unit} here and was in {before} in the fit: convert it to {before} first, because the "
        "numbers are used as they are."
    )
