from __future__ import annotations

import public_api


def test_public_api_equals_the_list():
    listed = public_api.LISTED.read_text().splitlines()
    found = public_api.listing()
    says = f"run python {public_api.__file__}, and look at the diff"
    assert sorted(set(listed) - set(found)) == [], f"gone or changed: {says}"
    assert sorted(set(found) - set(listed)) == [], f"new or changed: {says}"
