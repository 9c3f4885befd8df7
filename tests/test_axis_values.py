"""Values of axes as people write them."""

import pytest

from streamlanes.axis_values import parse_axes, parse_setting
from streamlanes.errors import UserError


def test_settings_are_numbers_words_and_distributions():
    assert parse_setting("width=6,64") == ("width", [6, 64])
    assert parse_setting("ramp_s=2.5") == ("ramp_s", [2.5])
    assert parse_setting("ttft_ms=200~0.5") == ("ttft_ms", [{"median": 200, "sigma": 0.5}])
    assert parse_axes({"ttft_ms": {"median": 200, "sigma": 0.5}}).ttft_ms.sigma == 0.5
    for bad in ("width", "width=", "wdth=3"):
        with pytest.raises(UserError, match="width"):
            parse_setting(bad)


def test_a_path_is_no_number_and_no_distribution():
    assert parse_setting("trace=2023,~/t.csv,1e5") == ("trace", ["2023", "~/t.csv", "1e5"])
    assert parse_axes({"trace": "2023"}).trace == "2023"


def test_heavy_tails_and_yes_or_no_are_settings_too():
    assert parse_setting("gap_ms=20^1.5") == ("gap_ms", [{"median": 20, "tail": 1.5}])
    assert parse_setting("tls=true,false") == ("tls", [True, False])
    assert parse_axes({"tls": True}).tls is True
    with pytest.raises(UserError, match="tls"):
        parse_axes({"tls": "yes"})
