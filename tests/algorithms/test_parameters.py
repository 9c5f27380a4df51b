"""Parameters are declared once: a fit does not validate the defaults again, so their own rules must accept them."""

import pytest

from softecm.algorithms.parameters import _declared
from softecm.testing.lists import all_estimators


@pytest.mark.parametrize(("name", "cls"), all_estimators())
def test_the_rule_of_a_parameter_accepts_its_default_and_leaves_it_as_it_is(name, cls):
    for parameter, check, default in _declared(cls):
        if check is not None:
            value = check(parameter, default, default)
            assert (type(value), value) == (type(default), default), parameter
