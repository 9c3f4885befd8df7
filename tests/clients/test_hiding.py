import sys

import pytest

from streamlanes.clients.hiding import hidden


def test_a_hidden_package_cannot_be_imported_and_is_back_afterwards():
    import json

    with hidden("json", "nothing_of_this_name"), pytest.raises(ImportError):
        import json
    assert sys.modules["json"] is json
    assert "nothing_of_this_name" not in sys.modules


def test_it_is_back_after_an_error_too():
    import json

    with pytest.raises(KeyError), hidden("json"):
        raise KeyError
    assert sys.modules["json"] is json
